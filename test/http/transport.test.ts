/** Invalid requests: always a response or a closed connection, never a crash and never a 5xx. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { exchange, openConnection } from './raw-connection.ts';

const gateway = createFakeGateway();
const AUTH = encodeURIComponent(SECRET);
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
});
afterAll(() => server.stop());

const bodyOf = (text: string): Record<string, unknown> =>
  JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));

describe('bytes that are not valid HTTP', () => {
  test.each([
    ['garbage', 'garbage\r\n\r\n', 400, 'malformed_request'],
    ['a TLS handshake', Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0]), 400, 'malformed_request'],
    ['a header without a name', 'GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n', 400, 'malformed_request'],
    [
      'two lengths',
      'POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
      'malformed_request',
    ],
    [
      'a length and chunks',
      'POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'malformed_request',
    ],
    [
      'a length that is not a number',
      'POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n',
      400,
      'malformed_request',
    ],
    ['no host', 'GET /livez HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
    ['two hosts', 'GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400, 'malformed_request'],
    [
      'headers that are too large',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'a URL that is too long',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      431,
      'headers_too_large',
    ],
  ])('%s gets a problem, and the connection is closed', async (_what, bytes, status, code) => {
    const text = await exchange(server.port, bytes);
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    for (const header of [
      'Connection: close',
      'Content-Type: application/problem+json',
      'Task-Gateway-Version: ',
    ])
      expect(text).toContain(header);
    expect(bodyOf(text)).toMatchObject({ status, code });
  });

  test('a caller that disconnects in the middle of its body causes no error in the log', async () => {
    const connection = await openConnection(server.port);
    connection.write('POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"auth":');
    await new Promise<void>((resolve) => connection.socket.end(resolve));
    connection.close();
    await expect
      .poll(() => server.logged.some(({ fields }) => 'code' in fields && fields.code === 'caller_left'))
      .toBe(true);
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('targets', () => {
  test('an id is decoded once, and one that can’t be decoded is passed on unchanged', async () => {
    gateway.calls.length = 0;
    for (const id of ['a%2Fb', '%25ff', '%E4%BB%BB', '%ff'])
      await exchange(
        server.port,
        `GET /api/cli/tasks/${id}?auth=${AUTH} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      );
    expect(gateway.calls.map(({ args }) => args[0])).toEqual(['a/b', '%ff', '任', '%ff']);
  });

  test('no response repeats the URL', async () => {
    for (const target of [
      '/secret-path',
      '/api/cli/tasks/secret-path?auth=wrong',
      '/api/cli/events?auth=secret-path',
    ]) {
      const text = await exchange(
        server.port,
        `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      );
      expect(text).not.toContain('secret-path');
    }
    expect(JSON.stringify(server.logged)).not.toContain('secret-path');
  });
});

describe('time limits', () => {
  test.each([
    ['the headers of a request', 'GET /livez HTTP/1.1\r\nHost:'],
    ['the bytes of a body', 'POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{'],
  ])('%s that are slow to arrive get a 408, and the connection is closed', async (_what, bytes) => {
    const strict = await startTestServer(gateway, { limits: { headersMs: 40, requestMs: 80 } });
    const text = await exchange(strict.port, bytes);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(bodyOf(text)).toMatchObject({ code: 'request_timeout' });
    await strict.stop();
  });

  test('beyond the limit of connections a new one is closed at once', async () => {
    const small = await startTestServer(gateway, { limits: { connectionsMax: 1 } });
    const first = await openConnection(small.port);
    const second = await openConnection(small.port);
    await second.readAll();
    expect([first.isClosed(), second.isClosed()]).toEqual([false, true]);
    first.close();
    await small.stop();
  });
});

test('all agents are one list, with the time and the counts of its first part', async () => {
  const asked: unknown[] = [];
  const gateway = createFakeGateway({
    async listAgents(query: { readonly cursor?: string }) {
      asked.push(query);
      const { cursor = 'Yg' } = query;
      const page = { agents: [{ agent_id: asked.length }], total: 5, counts: { total: asked.length } };
      return { time: asked.length, ...page, next_cursor: { Yg: 'Yw', Yw: 'ZA' }[cursor] ?? null };
    },
  } as never);
  const whole = await startTestServer(gateway);
  const response = await fetch(`${whole.url}/api/admin/agents?tag=a`, {
    headers: { 'x-admin-auth': ADMIN_SECRET },
  });
  expect(await response.json()).toEqual({
    time: 1,
    agents: [{ agent_id: 1 }, { agent_id: 2 }, { agent_id: 3 }],
    total: 5,
    counts: { total: 1 },
    next_cursor: null,
  });
  expect(response.headers.get('etag')).toBeNull();
  const part = { tag: 'a', sort: 'id', limit: 1_000 };
  expect(asked).toEqual([part, { ...part, cursor: 'Yw' }, { ...part, cursor: 'ZA' }]);
  await whole.stop();
});

test('a list that fails behind its first part is cut off, and the log says why', async () => {
  const fault = new Error('a fault behind the first part');
  let parts = 0;
  const broken = createFakeGateway({
    async listAgents() {
      parts += 1;
      if (parts > 8) throw fault;
      const agent = { agent_id: 'a', endpoint: 'pull', agent_tags: ['x'.repeat(100_000)], state: 'ready' };
      return { time: 1, agents: [agent], total: 9, counts: {}, next_cursor: 'Yw' };
    },
  } as never);
  const failing = await startTestServer(broken);
  const response = await fetch(`${failing.url}/api/admin/agents`, {
    headers: { 'x-admin-auth': ADMIN_SECRET },
  });
  await expect(response.text()).rejects.toThrow('terminated');
  expect(failing.logged).toContainEqual({
    level: 'error',
    message: 'a response was cut off behind its first part',
    fields: { err: fault, operation: 'listAgents' },
  });
  await failing.stop();
});
