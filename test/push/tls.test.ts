/**
 * Pushes over TLS: an agent with a valid certificate gets its task, and no other server gets a byte of it.
 */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { flushMicrotasks } from '../harness/fake-clock.ts';
import { makeCertificate } from './certificate.ts';
import { openAgent, openPusher } from './push-fixture.ts';
import { pushTask, untakenFor } from './push-task.ts';
import { buildResponse } from './scripted-agent.ts';

const DAY_MS = 86_400_000;
const nowMs = Date.now();
const trusted = makeCertificate('agent.test', nowMs - DAY_MS, nowMs + DAY_MS);
const expired = makeCertificate('agent.test', nowMs - 2 * DAY_MS, nowMs - DAY_MS);
const early = makeCertificate('agent.test', nowMs + DAY_MS, nowMs + 2 * DAY_MS);
const untrusted = makeCertificate('agent.test', nowMs - DAY_MS, nowMs + DAY_MS);
const authorities = getCACertificates('default');

beforeAll(() => setDefaultCACertificates([...authorities, trusted.cert, expired.cert, early.cert]));
afterAll(() => setDefaultCACertificates(authorities));

const resolve = (_host: string, done: (error: null, found: { address: string; family: number }[]) => void) =>
  done(null, [{ address: '127.0.0.1', family: 4 }]);

describe('TLS', () => {
  test('an agent with a certificate of a trusted authority gets its tasks, over one connection', async () => {
    const agent = await openAgent((socket) => socket.write(buildResponse(202)), { tls: trusted });
    const pusher = openPusher({ resolve });
    for (let nth = 0; nth < 3; nth += 1) {
      const outcome = await pushTask(pusher, `https://agent.test:${agent.port}/tasks`);
      expect(outcome).toEqual({ kind: 'acknowledged', status: 202 });
      await flushMicrotasks();
    }
    expect(agent.requests.map(({ line }) => line)).toEqual(new Array(3).fill('POST /tasks HTTP/1.1'));
    expect(agent.connections()).toBe(1);
  });

  test('a server with an invalid certificate gets nothing', async () => {
    const cases = [
      [untrusted, 'agent.test', 'TLS: self-signed certificate'],
      [expired, 'agent.test', 'TLS: certificate has expired'],
      [early, 'agent.test', 'TLS: certificate is not valid yet'],
      [trusted, 'other.test', 'TLS: certificate is for another host'],
      [trusted, '127.0.0.1', 'TLS: certificate is for another host'],
    ] as const;
    for (const [tls, host, error] of cases) {
      const agent = await openAgent((socket) => socket.write(buildResponse(202)), { tls });
      const outcome = await pushTask(openPusher({ resolve }), `https://${host}:${agent.port}/`);
      expect(outcome, error).toEqual(untakenFor(error));
      await agent.until(({ open }) => open() === 0);
      expect(agent.requests, error).toEqual([]);
    }
  });

  test('an agent that does not speak TLS, or closes the connection, has not taken the task', async () => {
    const plainHttp = await openAgent(() => undefined, {
      onConnection: (socket) => socket.end('HTTP/1.1 400 No\r\n\r\n'),
    });
    const outcome = await pushTask(openPusher(), plainHttp.url.replace('http:', 'https:'));
    expect(outcome).toEqual(untakenFor('TLS: the endpoint does not speak TLS'));
    const resetting = await openAgent(() => undefined, {
      onConnection: (socket) => socket.resetAndDestroy(),
    });
    const cut = await pushTask(openPusher(), resetting.url.replace('http:', 'https:'));
    expect(cut).toEqual(untakenFor('connection reset before anything was written'));
  });

  test('a forbidden address is refused before the handshake', async () => {
    const agent = await openAgent(() => undefined, { tls: trusted });
    const pusher = openPusher({ resolve, deny: ['127.0.0.1'] });
    const outcome = await pushTask(pusher, `https://agent.test:${agent.port}/`);
    expect(outcome).toEqual(untakenFor('forbidden address: denied by setting'));
    expect(agent.connections()).toBe(0);
  });
});
