/**
 * What every response has, the pages beside the operations, HEAD, OPTIONS and CORS, and errors of the
 * gateway.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayError } from '../../server/ports/gateway.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { buildCall, OPERATIONS } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const gateway = createFakeGateway();
let server: TestServer;
let open: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
  open = await startTestServer(gateway, { settings: { corsOrigins: ['https://page.example'] } });
});
afterAll(() => Promise.all([server.stop(), open.stop()]));

const EVERYWHERE = {
  'task-gateway-version': '2.0.0-dev',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

describe('every response', () => {
  test('has the same four headers, success or not', async () => {
    const calls = OPERATIONS.map((one) => buildCall(one, secrets, {}, 's'));
    const wrong = { method: 'GET', path: '/nowhere' } as const;
    for (const call of [...calls, wrong, { method: 'GET', path: '/api/cli/tasks/x' } as const]) {
      const response = await fetch(server.url + call.path, call as RequestInit);
      const caching = response.headers.has('etag') ? { 'cache-control': 'no-cache' } : {};
      const expected = call.path.includes('/events')
        ? { ...EVERYWHERE, 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }
        : { ...EVERYWHERE, ...caching };
      expect(Object.fromEntries(response.headers), call.path).toMatchObject(expected);
      await response.body?.cancel();
    }
  });

  test('to HEAD has the headers of the response to GET', async () => {
    const reads = OPERATIONS.map((one) => buildCall(one, secrets, {}, 's')).filter(
      ({ method }) => method === 'GET',
    );
    for (const call of reads) {
      const compared = await Promise.all(
        ['GET', 'HEAD'].map(async (method) => {
          const response = await fetch(server.url + call.path, { ...call, method } as RequestInit);
          await response.body?.cancel();
          const { date: _, etag: _tag, ...headers } = Object.fromEntries(response.headers);
          // What is about the connection, and how the body is sent.
          for (const name of ['connection', 'keep-alive', 'content-length', 'transfer-encoding'])
            delete headers[name];
          return { status: response.status, headers };
        }),
      );
      expect(compared[1], call.path).toEqual(compared[0]);
    }
    expect(reads.some(({ path }) => path.includes('/events'))).toBe(true);
  });

  test('of 405 lists the methods of the path', async () => {
    for (const [method, path, allow] of [
      ['DELETE', '/api/cli/tasks', 'POST, OPTIONS'],
      ['GET', '/api/cli/tasks', 'POST, OPTIONS'],
      ['PUT', '/api/cli/tasks/x', 'HEAD, GET, OPTIONS'],
      ['POST', '/livez', 'HEAD, GET, OPTIONS'],
    ] as const) {
      const response = await fetch(server.url + path, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
      expect(await response.json()).toMatchObject({ code: 'method_not_allowed', status: 405 });
    }
  });

  test('of 401 says how to send the secret', async () => {
    const task = await sendChecked(server.url, { method: 'GET', path: '/api/cli/tasks/x' });
    expect(task.headers.get('www-authenticate')).toBe('Bearer');
    const admin = await sendChecked(server.url, { method: 'GET', path: '/api/admin/agents' });
    expect(admin.headers.get('www-authenticate')).toBe('X-Admin-Auth');
  });
});

describe('pages', () => {
  const pages = [
    ['/openapi.json', 'openapi.json', 'application/json'],
    ['/openapi.yaml', 'openapi.yaml', 'application/yaml; charset=utf-8'],
    ['/openapi.3.2.json', 'openapi.3.2.json', 'application/json'],
    ['/openapi.admin.json', 'openapi.admin.json', 'application/json'],
    ['/openapi.agent.json', 'openapi.agent.json', 'application/json'],
  ] as const;

  test.each(pages)('%s is the published document, open to every web page', async (path, file, type) => {
    const response = await fetch(server.url + path, { headers: { origin: 'https://anywhere.example' } });
    const published = fileURLToPath(import.meta.resolve(`@task-gateway/contract/${file}`));
    expect(await response.text()).toBe(readFileSync(published, 'utf8'));
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const etag = response.headers.get('etag') ?? '';
    const again = await fetch(server.url + path, { headers: { 'if-none-match': `W/"other", ${etag}` } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect(again.headers.get('cache-control')).toBe('no-cache');
    const any = await fetch(server.url + path, { headers: { 'if-none-match': '*' } });
    expect([any.status, any.headers.get('etag')]).toEqual([304, etag]);
  });

  test('the index page lists the documents', async () => {
    const page = await (await fetch(server.url)).json();
    for (const path of [...page.documents, ...page.health]) {
      expect((await fetch(server.url + path)).status, path).toBe(200);
    }
  });

  test.each([
    'OOM command not allowed when used memory > maxmemory on 10.9.8.7:6379',
    "The store could not write: EIO: i/o error, write '/srv/secret/gateway.db'",
    'Redis is not available: WRONGPASS invalid username-password pair for user secret',
    'NOREPLICAS at redis.secret.internal',
    'secret',
  ])('readiness repeats nothing of what the store says: %s', async (reason) => {
    const unhealthy = await startTestServer(createFakeGateway({ health: () => ({ ok: false, reason }) }));
    const body = await (await fetch(`${unhealthy.url}/readyz`)).text();
    expect(body).toMatch(/"reason":"The (disk of the )?store [a-z ]+\."/);
    expect(body).not.toMatch(/secret|10\.9|6379|WRONGPASS|NOREPLICAS|OOM|EIO/);
    await unhealthy.stop();
  });

  test('readiness gives the reason why calls would fail; liveness stays 200', async () => {
    const unhealthy = await startTestServer(
      createFakeGateway({ health: () => ({ ok: false, reason: 'database or disk is full: /secret/path' }) }),
    );
    const ready = await fetch(`${unhealthy.url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: 'unavailable', reason: 'The store is full.' },
    ]);
    expect(ready.headers.get('Retry-After')).toBe('2');
    expect((await fetch(`${unhealthy.url}/livez`)).status).toBe(200);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    await unhealthy.stop();
  });

  test('readiness stays 200 with a warning, because calls succeed', async () => {
    const warned = await startTestServer(
      createFakeGateway({ health: () => ({ ok: true, warning: 'a clock is wrong' }) }),
    );
    const ready = await fetch(`${warned.url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ok', warning: 'a clock is wrong' }]);
    await warned.stop();
  });
});

describe('HEAD and OPTIONS', () => {
  test('HEAD responds as GET without a body, and opens no stream', async () => {
    for (const operation of ['getTask', 'listAgents', 'subscribeEvents'] as const) {
      const { path, headers } = buildCall(operation, secrets, {}, 's');
      const response = await fetch(server.url + path, { method: 'HEAD', ...(headers && { headers }) });
      expect([response.status, await response.text()], operation).toEqual([200, '']);
    }
    expect((await fetch(`${server.url}/api/cli/tasks/x`, { method: 'HEAD' })).status).toBe(401);
    expect(server.streamCount()).toBe(0);
  });

  test('OPTIONS lists the methods of a path, and sends no CORS header while CORS is off', async () => {
    const response = await fetch(`${server.url}/api/cli/tasks`, {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example' },
    });
    expect([response.status, response.headers.get('allow')]).toEqual([204, 'POST, OPTIONS']);
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect((await fetch(`${server.url}/nowhere`, { method: 'OPTIONS' })).status).toBe(404);
  });
});

describe('CORS, when it is on', () => {
  const preflight = (origin: string, path = '/api/cli/tasks'): Promise<Response> =>
    fetch(open.url + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });

  test('a page of a configured origin may send what the calls need and read the response', async () => {
    const { status, headers } = await preflight('https://page.example');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('https://page.example');
    expect(headers.get('access-control-allow-methods')).toContain('POST');
    for (const name of ['Authorization', 'Content-Type', 'Idempotency-Key', 'Last-Event-ID']) {
      expect(headers.get('access-control-allow-headers')).toContain(name);
    }
    expect(headers.get('vary')).toBe('Origin');
    const response = await fetch(`${open.url}/api/cli/tasks/x`, {
      headers: { origin: 'https://page.example' },
    });
    expect(response.status).toBe(401);
    expect(response.headers.get('access-control-allow-origin')).toBe('https://page.example');
    expect(response.headers.get('access-control-expose-headers')).toContain('Retry-After');
  });

  test('a stream can be read by such a page too', async () => {
    const { path } = buildCall('subscribeEvents', secrets, {}, 's');
    const response = await fetch(open.url + path, { headers: { origin: 'https://page.example' } });
    expect(response.headers.get('access-control-allow-origin')).toBe('https://page.example');
    await response.body?.cancel();
  });

  test('a page of any other origin gets no CORS header', async () => {
    for (const origin of ['https://page.example.evil', 'http://page.example', 'null']) {
      const { headers } = await preflight(origin);
      expect(headers.get('access-control-allow-origin'), origin).toBeNull();
      expect(headers.get('access-control-allow-methods'), origin).toBeNull();
      expect(headers.get('vary')).toBe('Origin');
    }
  });

  test('the published documents stay open to every origin', async () => {
    const { status, headers } = await preflight('https://anywhere.example', '/openapi.json');
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  });
});

describe('errors that the gateway throws', () => {
  test.each([
    [new GatewayError('task_not_found', 'No such task.'), 404, 'task_not_found', null],
    [new GatewayError('busy', 'Too many tasks.'), 503, 'busy', '5'],
    [new StoreUnavailable('down'), 503, 'store_unavailable', '2'],
    [new Error('secret cause'), 500, 'internal', null],
    ['a thrown text', 500, 'internal', null],
    [undefined, 500, 'internal', null],
  ])('%s becomes the documented problem', async (thrown, status, code, retryAfter) => {
    const failing = await startTestServer(createFakeGateway({ getTask: () => Promise.reject(thrown) }));
    const response = await sendChecked(failing.url, buildCall('getTask', secrets));
    expect([response.status, response.json.code, response.headers.get('retry-after')]).toEqual([
      status,
      code,
      retryAfter,
    ]);
    expect(response.json.type).toBe(`urn:task-gateway:problem:${code}`);
    expect(response.text).not.toContain('secret cause');
    const logged = failing.logged.filter(({ level }) => level === 'error');
    expect(logged.length).toBe(status === 500 ? 1 : 0);
    // The log has the cause under the reference that the caller received.
    if (status === 500)
      expect(logged[0]?.fields).toMatchObject({
        operation: 'getTask',
        detail: response.json.detail,
        error: thrown,
      });
    await failing.stop();
  });

  test('an idempotency conflict names the header', async () => {
    const conflict = new GatewayError('idempotency_conflict', 'Used before.');
    const failing = await startTestServer(createFakeGateway({ submitTask: () => Promise.reject(conflict) }));
    const response = await sendChecked(failing.url, buildCall('submitTask', secrets));
    expect(response.json).toMatchObject({ status: 422, errors: [{ pointer: '/Idempotency-Key' }] });
    await failing.stop();
  });

  test('a cursor that no page had is named, together with everything else that is wrong', async () => {
    const gateway = createFakeGateway();
    const server = await startTestServer(gateway);
    const ask = async (query: string): Promise<unknown> => {
      const path = `/api/admin/tasks?${query}`;
      return (await sendChecked(server.url, { ...buildCall('listTasks', secrets), path })).json.errors;
    };
    expect(await ask('cursor=x')).toEqual([
      { pointer: '/cursor', detail: 'must be the `next_cursor` of the previous page' },
    ]);
    expect(await ask('limit=0&cursor=x&status=none')).toMatchObject([
      { pointer: '/status/0' },
      { pointer: '/limit' },
      { pointer: '/cursor' },
    ]);
    expect(gateway.calls).toEqual([]);
    await server.stop();
  });

  test('a refusal of the gateway names the field that it is about', async () => {
    const refusal = new GatewayError('validation_failed', 'must be another agent', '/agent_id');
    const failing = await startTestServer(createFakeGateway({ claimTask: () => Promise.reject(refusal) }));
    const response = await sendChecked(failing.url, buildCall('claimTask', secrets));
    expect(response.json).toMatchObject({
      status: 422,
      errors: [{ pointer: '/agent_id', detail: 'must be another agent' }],
    });
    await failing.stop();
  });
});
