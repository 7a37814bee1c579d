/**
 * Who is served under which name, and for pages of which origin: the whole table. With the public default
 * secret a foreign name or origin is refused whatever the call. With a secret of one's own a call that
 * carries it passes everywhere, and one that needs none and has none does not.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { exchange } from './raw-connection.ts';

/**
 * The columns: the headers `Host` and `Origin`. `gateway.test` is one of ALLOWED_HOSTS, `https://page.test`
 * one of CORS_ORIGINS.
 */
const SITUATIONS = [
  ['localhost'],
  ['gateway.test'],
  ['evil.test'],
  ['evil.test', 'http://evil.test'],
  ['localhost', 'https://evil.test'],
  ['localhost', 'http://localhost:3000'],
  ['localhost', 'https://page.test'],
] as const;

const TABLE = `
                                    called as                 by a page of
 secret     call                    own  allowed  foreign     itself, foreign  another, foreign  own  configured
 public   | unregister            | 200  200      421         421              403               200  200
 public   | unregister +secret    | 200  200      421         421              403               200  200
 public   | unregister +wrong     | 401  401      421         421              403               401  401
 public   | task                  | 401  401      421         421              403               401  401
 public   | task +secret          | 200  200      421         421              403               200  200
 public   | open metrics          | 200  200      421         421              403               200  200
 public   | open metrics +secret  | 200  200      421         421              403               200  200
 public   | probe                 | 200  200      200         200              200               200  200
 public   | document              | 200  200      200         200              200               200  200
 public   | console               | 200  200      421         421              403               200  200
 own      | unregister            | 200  200      421         421              403               200  200
 own      | unregister +secret    | 200  200      200         200              200               200  200
 own      | unregister +in body   | 200  200      200         200              200               200  200
 own      | unregister +wrong     | 401  401      401         401              401               401  401
 own      | heartbeat             | 200  200      421         421              403               200  200
 own      | heartbeat +secret     | 200  200      200         200              200               200  200
 own      | result                | 200  200      421         421              403               200  200
 own      | result +secret        | 200  200      200         200              200               200  200
 own      | register              | 422  422      422         422              422               422  422
 own      | task                  | 401  401      401         401              401               401  401
 own      | task +secret          | 200  200      200         200              200               200  200
 own      | agents +secret        | 200  200      200         200              200               200  200
 own      | open metrics          | 200  200      421         421              403               200  200
 own      | open metrics +secret  | 200  200      200         200              200               200  200
 own      | probe                 | 200  200      200         200              200               200  200
 own      | document              | 200  200      200         200              200               200  200
 own      | console               | 200  200      200         200              200               200  200
 required | unregister            | 401  401      401         401              401               401  401
 required | unregister +secret    | 200  200      200         200              200               200  200
 required | open metrics          | 200  200      421         421              403               200  200
`;

type Call = { readonly path: string; readonly body?: object };
const CALLS: Readonly<Record<string, Call>> = {
  unregister: { path: '/api/agent/unregister', body: { agent_id: 'a' } },
  heartbeat: { path: '/api/agent/heartbeat', body: { agent_id: 'a' } },
  result: {
    path: '/api/agent/result',
    body: { agent_id: 'a', request_id: 'r', status: 'success', result: {} },
  },
  register: { path: '/api/agent/register', body: { agent_id: 'a', endpoint: 'pull', agent_tags: ['x'] } },
  task: { path: '/api/cli/tasks/x' },
  agents: { path: '/api/admin/agents' },
  'open metrics': { path: '/metrics' },
  probe: { path: '/readyz' },
  document: { path: '/openapi.json' },
  console: { path: '/console/' },
};
const HEADERS: Readonly<Record<string, object>> = {
  secret: { authorization: `Bearer ${SECRET}`, 'x-admin-auth': ADMIN_SECRET },
  wrong: { authorization: 'Bearer wrong' },
};
const SETTINGS = {
  public: { isSecretPublic: true },
  own: {},
  required: { isAgentAuthRequired: true },
} as const;

const servers = new Map<string, TestServer>();
beforeAll(async () => {
  for (const [secret, more] of Object.entries(SETTINGS)) {
    const settings = { allowedHosts: ['gateway.test'], corsOrigins: ['https://page.test'], ...more };
    const open = { settings: { ...settings, isMetricsPublic: true } };
    servers.set(secret, await startTestServer(createFakeGateway(), open));
  }
});
afterAll(() => Promise.all([...servers.values()].map((server) => server.stop())));

/** Sends a call as it is named in the table; returns the status. */
async function ask(secret: string, named: string, host: string, origin?: string): Promise<string> {
  const [name = '', how = ''] = named.split(/ \+/);
  const { path, body } = CALLS[name] ?? { path: '/unknown' };
  const text = body ? JSON.stringify(how === 'in body' ? { ...body, auth: SECRET } : body) : '';
  const headers = { host, ...(origin !== undefined && { origin }), ...HEADERS[how] };
  const lines = Object.entries({
    ...headers,
    'content-type': 'application/json',
    'content-length': text.length,
    connection: 'close',
  });
  // Of the two secrets a page of the metrics takes that of the administrator alone.
  const sent = path === '/metrics' ? lines.filter(([header]) => header !== 'authorization') : lines;
  const head = [`${body ? 'POST' : 'GET'} ${path} HTTP/1.1`, ...sent.map((line) => line.join(': '))];
  const answer = await exchange(servers.get(secret)?.port ?? 0, `${head.join('\r\n')}\r\n\r\n${text}`);
  return answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
}

const rows = TABLE.split('\n').flatMap((line) => {
  const [secret, call, statuses] = line.split('|').map((cell) => cell.trim());
  return secret && call && statuses ? [[secret, call, statuses.replace(/ +/g, ' ')] as const] : [];
});

test.each(rows)('secret %s: %s', async (secret, call, statuses) => {
  const found = await Promise.all(SITUATIONS.map(([host, origin]) => ask(secret, call, host, origin)));
  expect(found.join(' ')).toBe(statuses);
});
