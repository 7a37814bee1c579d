/**
 * How the server ends: long polls return, streams end with a reconnect time, and no connection stays open.
 */
import { describe, expect, test } from 'vitest';
import { buildCall, send } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer } from '../harness/http-server.ts';
import { createFakeGateway, FOUND } from './fake-gateway.ts';
import { openConnection } from './raw-connection.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const AUTH = encodeURIComponent(SECRET);
const EVENTS = `/api/cli/events?cli_session_id=s&auth=${AUTH}`;
const STREAM_END = /\nretry: (\d+)\n\n\r\n0\r\n\r\n/;

/** Resolves when the signal fires. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

test('Once its end is announced it is not ready, and answers all calls, and keeps their connections.', async () => {
  let finish = (): void => {};
  const gateway = createFakeGateway({
    claimTask: () => new Promise((resolve) => (finish = () => resolve(null))),
  });
  const server = await startTestServer(gateway);
  const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  const [stream, later] = [await openConnection(server.port), await openConnection(server.port)];
  stream.write(ask(EVENTS));
  await stream.readUntil(/: ready\n\n/);
  const poll = send(server.url, buildCall('claimTask', secrets, { wait: 60 }));
  await expect.poll(() => gateway.calls.length).toBe(2);
  server.announceEnd();
  // A stream ends, and its connection serves further calls.
  expect(await stream.readUntil(/\r\n0\r\n\r\n$/)).toMatch(STREAM_END);
  stream.write([`/api/cli/tasks/task-1?auth=${AUTH}`, '/livez', '/readyz'].map(ask).join(''));
  const [, ...answers] = (await stream.readUntil(/"draining".*\}/)).split('HTTP/1.1 ').slice(1);
  expect(answers.map((text) => text.slice(0, 3))).toEqual(['200', '200', '503']);
  expect(answers[2]).toContain('"reason":"draining"');
  for (const text of answers) expect(text).toMatch(/\r\nConnection: keep-alive\r\n/);
  // A poll goes on, and a stream that begins now: ended at once, they would come back at once.
  later.write(ask(EVENTS));
  await later.readUntil(/: ready\n\n/);
  finish();
  expect((await poll).status).toBe(204);
  expect(server.streamCount()).toBe(1);
  await server.stop(60_000);
  expect(await later.readAll()).toMatch(STREAM_END);
});

test('An idle connection is kept for 75 seconds, longer than a proxy keeps it.', async () => {
  const server = await startTestServer(createFakeGateway());
  const connection = await openConnection(server.port);
  connection.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(await connection.readUntil(/"ok"/)).toMatch(/\r\nKeep-Alive: timeout=75\r\n/);
  await server.stop();
});

describe('draining', () => {
  test('long polls return at once, and their connections are closed', async () => {
    const gateway = createFakeGateway({
      getTask: async (_id, _waitMs, signal) => {
        await aborted(signal);
        return FOUND;
      },
      claimTask: async (_claim, signal) => {
        await aborted(signal);
        return null;
      },
    });
    const server = await startTestServer(gateway);
    const { path, ...rest } = buildCall('getTask', secrets);
    const polls = [
      send(server.url, { ...rest, path: `${path}&wait=60` }),
      send(server.url, buildCall('claimTask', secrets, { wait: 60 })),
    ];
    await expect.poll(() => gateway.calls.length).toBe(2);
    await server.stop(60_000);
    const responses = await Promise.all(polls);
    expect(responses.map(({ status }) => status)).toEqual([200, 204]);
    for (const { headers } of responses) expect(headers.get('connection')).toBe('close');
  });

  test('every stream ends with a reconnect time', async () => {
    const server = await startTestServer(createFakeGateway());
    const connections = await Promise.all(Array.from({ length: 5 }, () => openConnection(server.port)));
    for (const connection of connections) {
      connection.write(`GET /api/cli/events?cli_session_id=s&auth=${AUTH} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await connection.readUntil(/: ready\n\n/);
    }
    await server.stop(60_000);
    for (const connection of connections) {
      const text = await connection.readAll();
      const retryMs = Number(/\nretry: (\d+)\n\n\r\n0\r\n\r\n$/.exec(text)?.[1]);
      expect(retryMs).toBeGreaterThanOrEqual(1_000);
      expect(retryMs).toBeLessThanOrEqual(5_000);
    }
    expect(server.streamCount()).toBe(0);
  });

  test('a stream that begins while the server drains ends with a reconnect time too', async () => {
    let begin = (): void => {};
    const beginning = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const usual = createFakeGateway();
    const gateway = createFakeGateway({
      followOutput: async (...args) => {
        await beginning;
        return await usual.followOutput(...args);
      },
    });
    const server = await startTestServer(gateway);
    const connection = await openConnection(server.port);
    connection.write(
      `GET /api/cli/tasks/task-1/output?auth=${AUTH} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n`,
    );
    await expect.poll(() => gateway.calls.length).toBe(1);
    const stopped = server.stop(60_000);
    await expect.poll(() => fetch(`${server.url}/livez`).catch(() => 'refused')).toBe('refused');
    begin();
    const text = await connection.readAll();
    await stopped;
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
    expect(text).toMatch(/\nretry: \d+\n\n\r\n0\r\n\r\n$/);
    expect(server.streamCount()).toBe(0);
  });

  test('an open call is completed, and new connections are refused', async () => {
    let finish = (): void => {};
    const gateway = createFakeGateway({
      listTasks: () =>
        new Promise(
          (resolve) => (finish = () => resolve({ time: 1, tasks: [], next_cursor: null, counts: null })),
        ),
    });
    const server = await startTestServer(gateway);
    const connection = await openConnection(server.port);
    const head = `HTTP/1.1\r\nHost: a\r\nX-Admin-Auth: ${ADMIN_SECRET}\r\n\r\n`;
    connection.write(`GET /api/admin/tasks ${head}GET /readyz ${head}`);
    await expect.poll(() => gateway.calls.length).toBe(1);
    const stopped = server.stop(60_000);
    await expect.poll(() => fetch(`${server.url}/livez`).catch(() => 'refused')).toBe('refused');
    finish();
    const text = await connection.readAll();
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    await stopped;
  });

  test('an idle connection is closed at once, or serves one call more where it is kept', async () => {
    const call = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n';
    for (const keepsIdle of [false, true]) {
      const server = await startTestServer(createFakeGateway());
      const connection = await openConnection(server.port);
      connection.write(call);
      await connection.readUntil(/"ok"/);
      const stopped = server.stop(60_000, keepsIdle);
      await expect.poll(() => fetch(`${server.url}/livez`).catch(() => 'refused')).toBe('refused');
      if (keepsIdle) connection.write(call);
      const text = await connection.readAll();
      await stopped;
      expect(text.match(/"ok"/g)).toHaveLength(keepsIdle ? 2 : 1);
      expect(/\r\nConnection: close\r\n/.test(text)).toBe(keepsIdle);
      expect(connection.isClosed()).toBe(true);
    }
  });

  test('a call that does not end is closed after the grace period, and draining is idempotent', async () => {
    const gateway = createFakeGateway({ getTask: () => new Promise(() => {}) });
    const server = await startTestServer(gateway);
    const hanging = send(server.url, buildCall('getTask', secrets)).catch(() => 'closed');
    await expect.poll(() => gateway.calls.length).toBe(1);
    await Promise.all([server.stop(30), server.stop(30)]);
    expect(await hanging).toBe('closed');
    await server.stop(30);
  });

  test('a server that never listened ends too', async () => {
    const { createHttp, HTTP_LIMITS } = await import('../../server/http/http.ts');
    const { realClock } = await import('../harness/http-server.ts');
    const { createLargeWork } = await import('../../server/async/large-work.ts');
    const { SILENT, UNOBSERVED } = await import('../harness/silent-log.ts');
    const http = await createHttp({
      gateway: createFakeGateway(),
      secrets: { gateway: [SECRET], admin: [] },
      limits: HTTP_LIMITS,
      settings: { isAgentAuthRequired: false, corsOrigins: [] },
      clock: realClock,
      random: () => 0,
      largeWork: createLargeWork(),
      log: SILENT,
      observer: UNOBSERVED,
      renderMetrics: async () => ({ contentType: 'text/plain', text: '' }),
    });
    await http.drain({ graceMs: 10, keepsIdle: false });
    expect(http.streamCount()).toBe(0);
  });

  test('listening on an address that is in use rejects', async () => {
    const server = await startTestServer(createFakeGateway());
    await expect(startTestServer(createFakeGateway(), { port: server.port })).rejects.toThrow('EADDRINUSE');
    await server.stop();
  });
});
