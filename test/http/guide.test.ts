/** The guide's tables of secrets, errors, signatures, limits and paths say what the gateway does. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { FIXED_LIMITS } from '../../server/config/fixed-limits.ts';
import { HTTP_LIMITS } from '../../server/http/http.ts';
import { describeProblem, PROBLEM_CODES, Problem } from '../../server/http/problems.ts';
import { createSigner } from '../../server/push/signature.ts';
import { requireObject } from '../../spec/document.ts';
import { readDocument } from '../contract/document-check.ts';
import { listWords, readSection, readTable } from '../contract/guide.ts';
import { buildCall, type Call, OPERATIONS, type OperationId } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { createFakeGateway } from './fake-gateway.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const gateway = createFakeGateway();
let open: TestServer;
let strict: TestServer;
beforeAll(async () => {
  open = await startTestServer(gateway);
  strict = await startTestServer(createFakeGateway(), { settings: { isAgentAuthRequired: true } });
});
afterAll(() => Promise.all([open.stop(), strict.stop()]));

/** The usual call without any secret, and then with those that are given. */
function buildSecretCall(
  operationId: OperationId,
  given: { body?: string; bearer?: string; query?: string },
) {
  const usual = buildCall(operationId, secrets);
  const url = new URL(usual.path, 'http://a');
  url.searchParams.delete('auth');
  if (given.query !== undefined) url.searchParams.set('auth', given.query);
  const body = typeof usual.body === 'string' ? { ...JSON.parse(usual.body), auth: given.body } : undefined;
  return {
    method: usual.method,
    path: url.pathname + url.search,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(given.bearer !== undefined && { authorization: `Bearer ${given.bearer}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  } satisfies Call;
}

describe('secrets', () => {
  const rows = readTable('Secrets').map((row) => ({
    operations: listWords(row.Operations) as readonly OperationId[],
    ...{ inBody: row['In the body'] ?? '', beside: row['In the query or as `Authorization: Bearer`'] ?? '' },
    ...{ missing: row.Missing ?? '', wrong: Number(row.Wrong) },
  }));
  const status = async (call: Call, server = open): Promise<number> => {
    const response = await fetch(server.url + call.path, call);
    await response.body?.cancel();
    return response.status;
  };

  test('each operation has a row', () => {
    expect(rows.flatMap(({ operations }) => operations).sort()).toEqual([...OPERATIONS].sort());
  });

  test.each(rows)('of $operations', async ({ operations, inBody, beside, missing, wrong }) => {
    const isAdmin = beside.includes('nothing else');
    const mayBeAdmin = `${inBody}${beside}`.includes('or the administrator');
    for (const name of operations) {
      const none = await status(buildSecretCall(name, {}));
      if (missing.startsWith('allowed')) {
        expect(none, name).toBeLessThan(300);
        expect(await status(buildSecretCall(name, {}), strict), name).toBe(401);
      } else expect(none, name).toBe(Number(missing));
      const usual = buildCall(name, secrets);
      expect(await status(usual), name).toBeLessThan(300);
      if (isAdmin) {
        expect(await status({ ...usual, headers: { 'x-admin-auth': 'wrong' } }), name).toBe(wrong);
        expect(await status(buildSecretCall(name, { bearer: ADMIN_SECRET })), name).toBe(wrong);
        continue;
      }
      expect(await status(buildSecretCall(name, { body: SECRET, query: 'wrong' })), name).toBe(wrong);
      if (mayBeAdmin) {
        const call = buildSecretCall(name, {});
        const withHeader = (secret: string): Call => ({
          ...call,
          headers: { ...call.headers, 'x-admin-auth': secret },
        });
        expect(await status(withHeader(ADMIN_SECRET)), name).toBeLessThan(300);
        expect(await status(withHeader('wrong')), name).toBe(wrong);
      }
      const hasBody = inBody !== '–';
      if (hasBody) expect(await status(buildSecretCall(name, { body: 'wrong' })), name).toBe(wrong);
      const byQuery = await status(buildSecretCall(name, { query: SECRET }), strict);
      const byBearer = await status(buildSecretCall(name, { bearer: SECRET }), strict);
      // What the body must have, neither replaces.
      if (inBody.startsWith('required')) expect([byQuery, byBearer], name).toEqual([422, 422]);
      else expect(Math.max(byQuery, byBearer), name).toBeLessThan(300);
    }
  });
});

describe('errors', () => {
  test('each code has one row', () => {
    const listed = readTable('What to do with an error').flatMap(({ Code }) => listWords(Code));
    expect([...listed].sort()).toEqual([...PROBLEM_CODES].sort());
  });

  test('the bodies that belong to no operation are those that are sent', async () => {
    const shown = listWords(readSection('What to do with an error')).filter((word) => word.startsWith('{'));
    const wrongMethod = await fetch(`${open.url}/api/cli/tasks`, { method: 'DELETE' });
    const largeHeaders = await fetch(open.url, { headers: { 'x-large': 'x'.repeat(20_000) } });
    expect(shown).toEqual([await wrongMethod.text(), await largeHeaders.text()]);
    expect([wrongMethod.status, largeHeaders.status]).toEqual([405, 431]);
  });

  test('the titles that no response of an operation shows are those that are sent', async () => {
    const words = listWords(readSection('What to do with an error'));
    const { title } = await (await fetch(`${open.url}/nowhere`)).json();
    expect(words[words.lastIndexOf('Path not found') - 1]).toBe('route_not_found');
    expect(title).toBe('Path not found');
    expect(words[words.indexOf('Malformed request') - 1]).toBe('malformed_request');
    const { body } = describeProblem(new Problem('malformed_request', ''));
    expect(JSON.parse(body).title).toBe('Malformed request');
  });

  test('the order of checks names codes that exist, and all that are no state of a task or agent', () => {
    const named = new Set(listWords(readSection('Order of checks')).filter((word) => /^[a-z_]+$/.test(word)));
    for (const field of ['agent_id', 'auth']) named.delete(field);
    const ofState = [
      'task_not_found',
      'agent_not_found',
      'agent_mismatch',
      'task_terminal',
      'too_many_streams',
    ];
    const ofFaults = ['internal', 'store_unavailable'];
    const expected = [...PROBLEM_CODES].filter((code) => ![...ofState, ...ofFaults].includes(code));
    expect([...named].sort()).toEqual(expected.sort());
  });
});

test('the signatures of the test vector are those of the gateway', () => {
  const rows = readTable('The signature of a push').map((row) => [row[''] ?? '', row['Test vector'] ?? '']);
  const find = (name: string): string =>
    listWords(rows.find(([title]) => title?.includes(name))?.[1])[0] ?? '';
  const [id, timestamp, body] = [find('webhook-id'), find('webhook-timestamp'), find('body')];
  const signed = rows.filter(([title]) => title?.startsWith('secret'));
  expect(signed).toHaveLength(2);
  for (const [title, signature] of signed) {
    const sign = createSigner(listWords(title));
    expect(sign(id, Number(timestamp), Buffer.from(body))).toBe(listWords(signature)[0]);
  }
});

test('the limits are those of the gateway and of the schemas', () => {
  const read = readConfig({});
  if (!read.ok) throw new Error(read.mistakes.join());
  const { config } = read;
  const digits = (value: number): string => value.toLocaleString('en');
  const limits = new Map(
    readTable('Limits').map((row) => [row.What ?? '', `${row.Limit}; ${row['Beyond it']}`]),
  );
  const find = (what: string): string => {
    const key = [...limits.keys()].find((one) => one.startsWith(what));
    return key === undefined ? '' : (limits.get(key) ?? '');
  };
  expect(find('body;')).toContain(`${HTTP_LIMITS.bodyBytesMax / 1_048_576} MiB`);
  expect(find('levels')).toContain(`${HTTP_LIMITS.depthMax} · ${digits(HTTP_LIMITS.keysMax)}`);
  expect(find('texts')).toContain(digits(HTTP_LIMITS.partsMax));
  expect(find('headers')).toContain(`16 KiB, within ${HTTP_LIMITS.headersMs / 1_000} seconds`);
  expect(find('a request')).toContain(`${HTTP_LIMITS.requestMs / 1_000} seconds`);
  expect(find('a request')).toContain(`after ${HTTP_LIMITS.largeBodyMs / 1_000} seconds`);
  expect(find('streams')).toContain(
    `${digits(HTTP_LIMITS.streamsMax)}, of one session ${HTTP_LIMITS.sessionStreamsMax}`,
  );
  expect(find('connections')).toContain(digits(HTTP_LIMITS.connectionsMax));
  expect(find('tasks that are pending')).toContain(digits(config.openTasksMax));
  expect(find('agents')).toContain(digits(config.agentsMax));
  expect(find('`timeout`')).toContain(`${FIXED_LIMITS.timeoutMaxMs / 86_400_000} days`);
  expect(find('`Idempotency-Key`')).toContain(`${FIXED_LIMITS.keepKeysMs / 3_600_000} hours`);
  const schema = (...path: readonly string[]) =>
    requireObject({ ...readDocument() }, 'components', 'schemas', ...path);
  expect(find('`agent_id`')).toContain(`1 to ${schema('Name').maxLength} code points`);
  expect(find('tags')).toBe(`${schema('Tags').maxItems}; 422`);
  expect(find('`request_ids`')).toBe(`${digits(Number(schema('RequestIds').maxItems))}; 422`);
  const endpoint = schema('AgentRegistration', 'properties', 'endpoint');
  expect(find('`endpoint`')).toBe(`${digits(Number(endpoint.maxLength))} characters; 422`);
});

test('numbers and keys come out as it says', async () => {
  const payload = '{"c":1.0,"b":0,"2":0,"a":9007199254740993,"1":0,"b":"last"}';
  const usual = buildCall('submitTask', secrets, { payload: 'here' });
  const body = String(usual.body).replace('"here"', payload);
  gateway.calls.length = 0;
  expect((await fetch(open.url + usual.path, { ...usual, body })).status).toBe(200);
  expect(JSON.stringify(gateway.calls[0]?.args[0])).toContain(
    '"payload":{"1":0,"2":0,"c":1,"b":"last","a":9007199254740992}',
  );
});

describe('paths beside the API', () => {
  const rows = readTable('Paths beside the API').flatMap((row) =>
    listWords(row.Path).map((path) => ({ path, origins: row.Origins ?? '' })),
  );

  test.each(rows)(
    '$path is served by GET, HEAD and OPTIONS, to origins: $origins',
    async ({ path, origins }) => {
      const headers = { origin: 'https://page.example' };
      const address = open.url;
      const got = await fetch(address + path, { headers });
      const head = await fetch(address + path, { method: 'HEAD', headers });
      const options = await fetch(address + path, { method: 'OPTIONS', headers });
      expect([got.status, head.status, options.status]).toEqual([200, 200, 204]);
      expect(await head.text()).toBe('');
      const allowed = origins === 'all' ? '*' : null;
      expect(got.headers.get('access-control-allow-origin')).toBe(allowed);
      expect(options.headers.get('access-control-allow-origin')).toBe(allowed);
      const plain = await Promise.all(
        ['GET', 'HEAD', 'OPTIONS'].map((method) => fetch(address + path, { method })),
      );
      expect(plain.map(({ headers: own }) => own.get('access-control-allow-origin'))).toEqual([
        allowed,
        allowed,
        null,
      ]);
      expect(options.headers.get('allow')).toContain('HEAD');
      expect(head.headers.get('content-type')).toBe(got.headers.get('content-type'));
      const named = listWords(readSection('Paths beside the API')).filter((word) =>
        /^[A-Z][\w-]+: /.test(word),
      );
      expect(named.length).toBeGreaterThan(2);
      for (const header of named) {
        const [name = '', value = ''] = header.split(': ');
        const isTagged = name === 'Cache-Control' && got.headers.has('etag');
        if (name !== 'Connection') expect(got.headers.get(name), header).toBe(isTagged ? 'no-cache' : value);
      }
      expect(got.headers.get('task-gateway-version')).toMatch(/^\d+\.\d+\.\d+(-dev)?$/);
      await got.body?.cancel();
    },
  );

  test('the bodies of the index and of the probes are those that are shown', async () => {
    const cellOf = (path: string): readonly string[] =>
      listWords(readTable('Paths beside the API').find((row) => row.Path === `\`${path}\``)?.Response);
    for (const path of ['/', '/livez', '/readyz']) {
      expect(cellOf(path)[0]).toBe(await (await fetch(open.url + path)).text());
    }
    for (const path of ['/', '/docs', '/openapi.json']) {
      expect((await fetch(open.url + path)).headers.get('etag'), path).toMatch(/^"/);
    }
  });

  test('a preflight names the headers that a page may send', async () => {
    const server = await startTestServer(createFakeGateway(), { settings: { corsOrigins: ['*'] } });
    const preflight = await fetch(`${server.url}/api/cli/tasks`, {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    });
    const words = listWords(readSection('Browsers')).map((word) => word.replaceAll(/\s+/g, ' '));
    expect(words).toContain(preflight.headers.get('access-control-allow-headers'));
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    const got = await fetch(`${server.url}/livez`, { headers: { origin: 'https://page.example' } });
    for (const name of got.headers.get('access-control-expose-headers')?.split(', ') ?? ['none']) {
      expect(words).toContain(name);
    }
    await server.stop();
  });
});
