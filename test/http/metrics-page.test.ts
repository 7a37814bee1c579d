/** `/metrics`: who may read it, and what the server reports of each request (more in `heads.test.ts`). */
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ServedRequest } from '../../server/ports/observer.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { exchange } from './raw-connection.ts';

const TEXT = '# HELP one One metric.\n# TYPE one counter\none 1\n';
const TYPE = 'text/plain; version=0.0.4; charset=utf-8';
/** With the caller's address, which is known only while its connection is open. */
const seen: (Omit<ServedRequest, 'peer'> & { readonly peer: string })[] = [];
const observer = {
  noteRequest: (request: ServedRequest) => void seen.push({ ...request, peer: request.peer() }),
};
let rendered = 0;
const renderMetrics = async () => {
  rendered += 1;
  return { contentType: TYPE, text: TEXT };
};

let server: TestServer;
beforeAll(async () => {
  const settings = { trustedProxies: ['127.0.0.1'] };
  server = await startTestServer(createFakeGateway(), { observer, renderMetrics, settings });
});
afterAll(() => server.stop());
afterEach(() => {
  seen.length = 0;
  rendered = 0;
});

const get = (headers: Record<string, string> = {}, init: RequestInit = {}): Promise<Response> =>
  fetch(`${server.url}/metrics`, { headers, ...init });

describe('the administrator’s secret', () => {
  test.each([
    ['as Bearer', { Authorization: `Bearer ${ADMIN_SECRET}` }],
    ['in X-Admin-Auth', { 'X-Admin-Auth': ADMIN_SECRET }],
    ['in both', { 'X-Admin-Auth': ADMIN_SECRET, Authorization: `bearer ${ADMIN_SECRET}` }],
  ])('%s opens the page', async (_, headers) => {
    const response = await get(headers);
    expect([response.status, await response.text()]).toEqual([200, TEXT]);
    expect(response.headers.get('content-type')).toBe(TYPE);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  test.each([
    ['none', {}],
    ['a wrong one', { Authorization: 'Bearer wrong' }],
    ['that of the gateway', { Authorization: `Bearer ${SECRET}`, 'X-Admin-Auth': SECRET }],
    ['a wrong one beside the right one', { 'X-Admin-Auth': ADMIN_SECRET, Authorization: 'Bearer wrong' }],
    ['an empty one', { Authorization: 'Bearer ', 'X-Admin-Auth': '' }],
  ])('%s is a 401, and nothing is rendered', async (_, headers) => {
    const response = await get(headers);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.json()).toMatchObject({
      code: 'unauthorized',
      detail: expect.stringContaining('X-Admin-Auth'),
    });
    expect(rendered).toBe(0);
  });

  test('is not taken from the query', async () => {
    expect((await fetch(`${server.url}/metrics?auth=${ADMIN_SECRET}`)).status).toBe(401);
  });

  test('is not needed where the page is public', async () => {
    const settings = { isMetricsPublic: true };
    const open = await startTestServer(createFakeGateway(), { renderMetrics, settings });
    expect(await (await fetch(`${open.url}/metrics`)).text()).toBe(TEXT);
    await open.stop();
  });
});

test('A rendering that fails is a 500 without its cause.', async () => {
  const failing = await startTestServer(createFakeGateway(), {
    settings: { isMetricsPublic: true },
    renderMetrics: () => Promise.reject(new Error('a secret cause')),
  });
  const response = await fetch(`${failing.url}/metrics`);
  expect([response.status, (await response.text()).includes('secret')]).toEqual([500, false]);
  await failing.stop();
});

describe('what the server reports of each request', () => {
  test('an operation, with the path it is registered under and without query', async () => {
    const auth = { Authorization: `Bearer ${SECRET}` };
    await fetch(`${server.url}/api/cli/tasks/some-id?wait=1&x=secret`, { headers: auth });
    await fetch(`${server.url}/api/cli/tasks/some-id`, { headers: { ...auth, Origin: 'https://a.example' } });
    const [first, second] = seen.map(({ peer: _, ms: __, ...rest }) => rest);
    expect(first).toEqual({
      operation: 'getTask',
      method: 'GET',
      path: '/api/cli/tasks/:request_id',
      status: 200,
      code: undefined,
    });
    // By Koa's whole way it is the same.
    expect(second).toEqual(first);
    for (const { ms } of seen) expect(ms).toBeGreaterThanOrEqual(0);
  });

  test.each([
    ['X-Forwarded-For: 203.0.113.7', '203.0.113.7'],
    ['Forwarded: for="[2001:db8::1]:80"', '2001:db8::1'],
    ['X: y', '127.0.0.1'],
  ])('the caller, as a trusted proxy names it: %s', async (named, peer) => {
    await exchange(server.port, `GET /livez HTTP/1.1\r\nHost: a\r\n${named}\r\nConnection: close\r\n\r\n`);
    expect(seen).toMatchObject([{ peer }]);
  });

  test('a proxy that is not trusted names no caller', async () => {
    const plain = await startTestServer(createFakeGateway(), { observer });
    await (await fetch(`${plain.url}/livez`, { headers: { 'X-Forwarded-For': '203.0.113.7' } })).text();
    expect(seen).toMatchObject([{ peer: '127.0.0.1' }]);
    await plain.stop();
  });

  test('a caller that left before the response has no status', async () => {
    const socket = connect(server.port, '127.0.0.1');
    const start = 'POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
    socket.write(`${start}Content-Length: 100\r\n\r\n{"auth":`, () => socket.destroy());
    await expect.poll(() => seen).toMatchObject([{ operation: 'submitTask', status: null }]);
  });
});
