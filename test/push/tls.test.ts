/** Pushes over TLS: an agent that proves who it is gets its task, and nobody else gets a byte of it. */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { settleMicrotasks } from '../harness/fake-clock.ts';
import { makeCertificate } from './certificate.ts';
import { openAgent, openPusher } from './push-fixture.ts';
import { pushTask, untakenFor } from './push-task.ts';
import { answer } from './scripted-agent.ts';

const DAY_MS = 86_400_000;
const nowMs = Date.now();
const trusted = makeCertificate('agent.test', nowMs - DAY_MS, nowMs + DAY_MS);
const expired = makeCertificate('agent.test', nowMs - 2 * DAY_MS, nowMs - DAY_MS);
const early = makeCertificate('agent.test', nowMs + DAY_MS, nowMs + 2 * DAY_MS);
const stranger = makeCertificate('agent.test', nowMs - DAY_MS, nowMs + DAY_MS);
const authorities = getCACertificates('default');

beforeAll(() => setDefaultCACertificates([...authorities, trusted.cert, expired.cert, early.cert]));
afterAll(() => setDefaultCACertificates(authorities));

const resolve = (_host: string, done: (error: null, found: { address: string; family: number }[]) => void) =>
  done(null, [{ address: '127.0.0.1', family: 4 }]);

describe('TLS', () => {
  test('an agent with a certificate of a known authority gets its tasks, over one connection', async () => {
    const agent = await openAgent((socket) => socket.write(answer(202)), { tls: trusted });
    const pusher = openPusher({ resolve });
    for (let nth = 0; nth < 3; nth += 1) {
      const outcome = await pushTask(pusher, `https://agent.test:${agent.port}/tasks`);
      expect(outcome).toEqual({ kind: 'acknowledged', status: 202 });
      await settleMicrotasks();
    }
    expect(agent.requests.map(({ line }) => line)).toEqual(new Array(3).fill('POST /tasks HTTP/1.1'));
    expect(agent.connections()).toBe(1);
  });

  test('a certificate that proves nothing gets nothing', async () => {
    const cases = [
      [stranger, 'agent.test', 'TLS: self-signed certificate'],
      [expired, 'agent.test', 'TLS: certificate has expired'],
      [early, 'agent.test', 'TLS: certificate is not valid yet'],
      [trusted, 'other.test', 'TLS: certificate is for another host'],
      [trusted, '127.0.0.1', 'TLS: certificate is for another host'],
    ] as const;
    for (const [tls, host, error] of cases) {
      const agent = await openAgent((socket) => socket.write(answer(202)), { tls });
      const outcome = await pushTask(openPusher({ resolve }), `https://${host}:${agent.port}/`);
      expect(outcome, error).toEqual(untakenFor(error));
      await agent.until(({ open }) => open() === 0);
      expect(agent.requests, error).toEqual([]);
    }
  });

  test('an agent that speaks no TLS, or hangs up on it, has not taken the task', async () => {
    const plain = await openAgent(() => undefined, {
      onConnection: (socket) => socket.end('HTTP/1.1 400 No\r\n\r\n'),
    });
    const outcome = await pushTask(openPusher(), plain.url.replace('http:', 'https:'));
    expect(outcome).toEqual(untakenFor('TLS: the endpoint does not speak TLS'));
    const rude = await openAgent(() => undefined, { onConnection: (socket) => socket.resetAndDestroy() });
    const cut = await pushTask(openPusher(), rude.url.replace('http:', 'https:'));
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
