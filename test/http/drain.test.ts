/** How the server ends: who waits is answered, who listens is told when to come back, nobody hangs. */
import { describe, expect, test } from 'vitest';
import { buildCall, send } from '../contract/usual-calls.ts';
import { createFakeGateway, TASK } from './fake-gateway.ts';
import { ADMIN_SECRET, openGate, SECRET } from './http-harness.ts';
import { openWire } from './raw-connection.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const AUTH = encodeURIComponent(SECRET);

/** Resolves when the signal fires. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

describe('draining', () => {
  test('long polls are answered at once, and their connections closed', async () => {
    const gateway = createFakeGateway({
      getTask: async (_id, _waitMs, signal) => {
        await aborted(signal);
        return TASK;
      },
      claimTask: async (_claim, signal) => {
        await aborted(signal);
        return null;
      },
    });
    const gate = await openGate(gateway);
    const { path, ...rest } = buildCall('getTask', secrets);
    const polls = [
      send(gate.url, { ...rest, path: `${path}&wait=60` }),
      send(gate.url, buildCall('claimTask', secrets, { wait: 60 })),
    ];
    await expect.poll(() => gateway.asked.length).toBe(2);
    await gate.stop(60_000);
    const answers = await Promise.all(polls);
    expect(answers.map(({ status }) => status)).toEqual([200, 204]);
    for (const { headers } of answers) expect(headers.get('connection')).toBe('close');
  });

  test('every stream ends with a time to come back', async () => {
    const gate = await openGate(createFakeGateway());
    const wires = await Promise.all(Array.from({ length: 5 }, () => openWire(gate.port)));
    for (const wire of wires) {
      wire.write(`GET /api/cli/events?cli_session_id=s&auth=${AUTH} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await wire.readUntil(/: ready\n\n/);
    }
    await gate.stop(60_000);
    for (const wire of wires) {
      const text = await wire.readAll();
      const retryMs = Number(/\nretry: (\d+)\n\n\r\n0\r\n\r\n$/.exec(text)?.[1]);
      expect(retryMs).toBeGreaterThanOrEqual(1_000);
      expect(retryMs).toBeLessThanOrEqual(5_000);
    }
    expect(gate.streamCount()).toBe(0);
  });

  test('a caller still connected is told that the gateway is not ready, and nobody new is let in', async () => {
    let finish = (): void => {};
    const gateway = createFakeGateway({
      listAgents: () => new Promise((resolve) => (finish = () => resolve({ agents: [], total: 0 }))),
    });
    const gate = await openGate(gateway);
    const wire = await openWire(gate.port);
    const head = `HTTP/1.1\r\nHost: a\r\nX-Admin-Auth: ${ADMIN_SECRET}\r\n\r\n`;
    wire.write(`GET /api/admin/agents ${head}GET /readyz ${head}`);
    await expect.poll(() => gateway.asked.length).toBe(1);
    const stopped = gate.stop(60_000);
    await expect(fetch(`${gate.url}/livez`)).rejects.toThrow();
    finish();
    const text = await wire.readAll();
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    await stopped;
  });

  test('an idle connection is closed at once', async () => {
    const gate = await openGate(createFakeGateway());
    const wire = await openWire(gate.port);
    wire.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
    await wire.readUntil(/"ok"/);
    await gate.stop(60_000);
    await wire.readAll();
    expect(wire.isClosed()).toBe(true);
  });

  test('what does not end by itself is closed after the grace, and draining twice is fine', async () => {
    const gateway = createFakeGateway({ getTask: () => new Promise(() => {}) });
    const gate = await openGate(gateway);
    const hanging = send(gate.url, buildCall('getTask', secrets)).catch(() => 'closed');
    await expect.poll(() => gateway.asked.length).toBe(1);
    await Promise.all([gate.stop(30), gate.stop(30)]);
    expect(await hanging).toBe('closed');
    await gate.stop(30);
  });

  test('a server that never listened ends too', async () => {
    const { createHttp, HTTP_LIMITS } = await import('../../server/http/http.ts');
    const { realClock } = await import('./http-harness.ts');
    const http = await createHttp({
      gateway: createFakeGateway(),
      secrets: { gateway: [SECRET], admin: [] },
      limits: HTTP_LIMITS,
      settings: { isAgentAuthRequired: false, corsOrigins: [] },
      clock: realClock,
      random: () => 0,
      log: { debug() {}, info() {}, warn() {}, error() {} },
    });
    await http.drain(10);
    expect(http.streamCount()).toBe(0);
  });

  test('an address that is taken is told as an error', async () => {
    const gate = await openGate(createFakeGateway());
    await expect(openGate(createFakeGateway(), { port: gate.port })).rejects.toThrow('EADDRINUSE');
    await gate.stop();
  });
});
