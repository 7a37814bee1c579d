/**
 * The heads of responses: what each has, however it came about; HEAD, OPTIONS and wrong methods; which web
 * pages may read it; and what the observer is told of it.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { buildCall, type Call, OPERATIONS, type OperationId } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { createFakeGateway, subscribeTo } from './fake-gateway.ts';
import { exchange } from './raw-connection.ts';

const ORIGIN = 'https://page.example';
const AUTH = `auth=${encodeURIComponent(SECRET)}`;
const EXPOSED = 'Task-Gateway-Version, Retry-After, ETag, Task-Outcome';
const FRAMING = /^(date|connection|keep-alive|transfer-encoding|content-length)$/;

const noted: unknown[] = [];
const gateway = createFakeGateway({
  subscribeEvents: subscribeTo(async function* (session) {
    if (session === 'fails') throw new StoreUnavailable('down');
    yield* [];
  }),
});
let plain: TestServer;
let one: TestServer;
let all: TestServer;
beforeAll(async () => {
  const noteRequest = ({ ms: _, peer: __, ...request }: { ms: number; peer(): string }) =>
    void noted.push(request);
  plain = await startTestServer(gateway, { observer: { noteRequest } });
  one = await startTestServer(gateway, { settings: { corsOrigins: [ORIGIN] } });
  all = await startTestServer(gateway, { settings: { corsOrigins: ['*'] } });
});
afterAll(() => Promise.all([plain, one, all].map((server) => server.stop(0))));
beforeEach(() => {
  noted.length = 0;
});

type Headers = Readonly<Record<string, string>>;
type Received = { readonly status: number; readonly headers: Headers; readonly body: string };

/** Sends a request as it is written, on a connection of its own. */
async function ask(server: TestServer, method: string, target: string, headers: Headers = {}, body = '') {
  const sent = {
    host: 'a',
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(sent).map((pair) => `${pair.join(': ')}\r\n`);
  const text = await exchange(server.port, `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  const [head = '', ...parts] = text.split('\r\n\r\n');
  const [status = '', ...received] = head.split('\r\n');
  const pairs = received.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 2),
  ]);
  return {
    status: Number(status.split(' ')[1]),
    headers: Object.fromEntries(pairs.filter(([name = '']) => !FRAMING.test(name))),
    body: parts.join('\r\n\r\n'),
  } as Received;
}

const usual = (operationId: OperationId, id = 'x'): Call =>
  buildCall(operationId, { gateway: SECRET, admin: ADMIN_SECRET }, {}, id);
const call = (
  server: TestServer,
  { method, path, headers, body }: Call,
  more: Headers = {},
  as: string = method,
) => ask(server, as, path, { ...headers, ...more }, as === 'HEAD' ? '' : String(body ?? ''));
const pathOf = (operationId: OperationId): string => usual(operationId).path.split('?')[0] ?? '';

const COMMON = {
  'cache-control': 'no-store',
  'content-type': 'application/json',
  'referrer-policy': 'no-referrer',
  'task-gateway-version': expect.stringMatching(/^\d+\.\d+\.\d+/),
  'x-content-type-options': 'nosniff',
};
const PROBLEM = { ...COMMON, 'content-type': 'application/problem+json' };
const STREAM = {
  ...COMMON,
  'cache-control': 'no-store, no-transform',
  'content-type': 'text/event-stream',
  'x-accel-buffering': 'no',
};
/** Those that also say whether the caller has the body already. */
const TAGGED: readonly OperationId[] = ['getOverview', 'listTasks', 'getAgent'];

describe.each(OPERATIONS)('%s', (operationId) => {
  const { method } = usual(operationId);
  const cached = TAGGED.includes(operationId) ? { ...COMMON, 'cache-control': 'no-cache' } : COMMON;
  const expected = operationId === 'subscribeEvents' ? STREAM : cached;

  test('has the common headers and no others, also where a page asks that may not read it', async () => {
    const { status, headers } = await call(plain, usual(operationId), {
      origin: ORIGIN,
      authorization: `Bearer ${SECRET}`,
    });
    const { etag, 'content-type': type, ...rest } = headers;
    const { 'content-type': expectedType, ...others } = expected;
    expect([status, type]).toEqual(status === 204 ? [204, undefined] : [200, expectedType]);
    expect([rest, etag !== undefined]).toEqual([others, TAGGED.includes(operationId)]);
    expect(noted).toEqual([
      { operation: operationId, method, path: expect.stringMatching(/^\/api\//), status, code: undefined },
    ]);
  });

  test('says to one without a secret how to send it, and nothing else', async () => {
    const strict = await startTestServer(gateway, { settings: { isAgentAuthRequired: true } });
    const { status, headers } = await ask(
      strict,
      method,
      pathOf(operationId),
      {},
      method === 'POST' ? '{"agent_id":"a"}' : '',
    );
    await strict.stop(0);
    const { 'www-authenticate': scheme, ...rest } = headers;
    expect(rest).toEqual(PROBLEM);
    expect([status, scheme]).toEqual(
      status === 422 ? [422, undefined] : [401, expect.stringMatching(/^(Bearer|X-Admin-Auth)$/)],
    );
  });

  test('may be read by the pages of configured origins, and by no others', async () => {
    const read = async (server: TestServer, origin: string) => {
      const { headers } = await call(server, usual(operationId), { origin });
      return [headers['access-control-allow-origin'], headers['access-control-expose-headers'], headers.vary];
    };
    expect(await read(one, ORIGIN)).toEqual([ORIGIN, EXPOSED, 'Origin']);
    expect(await read(all, ORIGIN)).toEqual(['*', EXPOSED, 'Origin']);
    for (const other of ['https://other.example', `${ORIGIN}.evil`, 'http://page.example', 'null'])
      expect(await read(one, other)).toEqual([undefined, undefined, 'Origin']);
  });

  test('has OPTIONS, preflights of the same pages, and refuses other methods', async () => {
    const allow = method === 'GET' ? 'HEAD, GET, OPTIONS' : 'POST, OPTIONS';
    const options = await ask(plain, 'OPTIONS', pathOf(operationId));
    const { 'content-type': _, ...common } = COMMON;
    expect(options).toEqual({ status: 204, headers: { ...common, allow }, body: '' });
    const refused = await ask(plain, 'PUT', pathOf(operationId));
    expect([refused.status, refused.headers]).toEqual([405, { ...PROBLEM, allow }]);
    const preflight = { 'access-control-request-method': method };
    const asked = await ask(one, 'OPTIONS', pathOf(operationId), { ...preflight, origin: ORIGIN });
    expect([asked.status, asked.headers]).toMatchObject([
      204,
      {
        'access-control-allow-origin': ORIGIN,
        'access-control-allow-methods': 'HEAD, GET, POST, OPTIONS',
        'access-control-allow-headers': expect.stringMatching(/^Authorization, Content-Type, .*tracestate$/),
        'access-control-max-age': '600',
      },
    ]);
    const other = await ask(one, 'OPTIONS', pathOf(operationId), { ...preflight, origin: `${ORIGIN}.evil` });
    expect(Object.keys(other.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  if (method === 'GET')
    test('has the same head by HEAD', async () => {
      const got = await call(plain, usual(operationId));
      expect(await call(plain, usual(operationId), {}, 'HEAD')).toEqual({ ...got, body: '' });
    });
});

test.each(TAGGED)(
  '%s has not changed by its tag, strong or weak, alone or among others',
  async (operationId) => {
    const tag = (await call(plain, usual(operationId), { 'If-None-Match': '"other"' })).headers.etag ?? '';
    for (const sent of [tag, tag.replace('W/', ''), `"other", ${tag}`, '*']) {
      const { status, body } = await call(plain, usual(operationId), { 'If-None-Match': sent });
      expect([status, body]).toEqual([304, '']);
    }
  },
);

test('A feed that fails at once is a problem that pages may read, with a time to come back.', async () => {
  const { status, headers } = await call(one, usual('subscribeEvents', 'fails'), { origin: ORIGIN });
  expect([status, headers]).toMatchObject([
    503,
    { ...PROBLEM, 'access-control-allow-origin': ORIGIN, 'retry-after': '2' },
  ]);
});

test('A page beside the operations is noted by the path it is registered under, and open to all where it says so.', async () => {
  for (const [method, target, path, status, code, readers] of [
    ['GET', '/livez', '/livez', 200, undefined, '*'],
    ['GET', '/openapi.json', '/openapi.json', 200, undefined, '*'],
    ['POST', '/docs', '/docs', 405, 'method_not_allowed'],
    ['GET', '/console/tasks', '/console/{*below}', 200, undefined],
    ['GET', '/nowhere', undefined, 404, 'route_not_found'],
  ] as const) {
    noted.length = 0;
    const { headers } = await ask(plain, method, target);
    expect(headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' });
    expect(headers['access-control-allow-origin']).toBe(readers);
    expect(noted).toEqual([{ operation: undefined, method, path, status, code }]);
  }
});

/** A path is taken to the letter, but for an authority and what follows a `#`. */
test.each([
  ...['//livez', '/livez/', '/LIVEZ', '/%6civez', '/%', '*', '/api', '/api/cli/tasks/', '/api/cli/Tasks'],
  ...[
    '/api//cli/tasks',
    '/api/cli/tasks//cancel',
    `/api/cli/tasks/x/?${AUTH}`,
    `/%61pi/cli/tasks/x?${AUTH}`,
    '/apis',
  ],
])('%s is no path', async (target) => {
  const { status, headers } = await ask(plain, 'GET', target);
  expect([status, headers]).toEqual([404, PROBLEM]);
});

test.each([
  ...['/livez#fragment', 'http://other:1/livez', `/api/cli/tasks/..?${AUTH}`, `/api/cli/tasks/%ff?${AUTH}`],
  ...[`http://other:1/api/cli/tasks/x?${AUTH}`, `/api/cli/tasks/x?${AUTH}#fragment`],
])('%s is a path', async (target) => {
  expect((await ask(plain, 'GET', target)).status).toBe(200);
});
