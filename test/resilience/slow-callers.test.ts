/**
 * Callers that send or read too slowly, over the real process and real time: they are disconnected when the
 * gateway promises to, and cost little. All kinds at once, so that the timeouts are waited for once.
 */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { post, submit } from '../e2e/plain-calls.ts';
import { printFigure } from '../harness/figures.ts';
import {
  type GatewayProcess,
  SECRET,
  startGateway,
  startLimitedGateway,
} from '../harness/gateway-process.ts';
import { countDescriptors, readRssKiB } from './process-cost.ts';
import { SCALE } from './soak.ts';

const SENDERS = Math.min(1_000, Math.round(200 * SCALE));
const READERS = 1_000;
const LARGE_READERS = 100;
const LARGE_CHARS = 1_000_000;
/** What the readers may cost together. Most of it is what the heap swings by while they are served. */
const READERS_KIB = 1_024 * 1_024;
/** When each is promised to be disconnected, and how much later that may be observed beside other work. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const STALL_MS = 30_000;
const LATE_MS = 90_000;
/** The events first fill what the connections buffer: gigabytes, which a busy machine copies slowly. */
const READERS_LATE_MS = 240_000;
const TRICKLE_EVERY_MS = 500;
const HEAD = 'HTTP/1.1\r\nHost: a\r\n';

/** A gateway for each kind of slowness, so that the cost of each can be measured. */
let sentTo: GatewayProcess;
let readFrom: GatewayProcess;
beforeAll(async () => {
  sentTo = await startGateway();
  readFrom = await startLimitedGateway({ streamsOfOneMax: 100_000 });
});
afterAll(() => Promise.all([sentTo?.stop(), readFrom?.stop()]));

const portOf = ({ baseUrl }: GatewayProcess): number => Number(new URL(baseUrl).port);

/** A caller that never ends its request; resolves with the response and when it was disconnected. */
function trickle(
  opening: string,
  more: string,
): Promise<{ readonly text: string; readonly afterMs: number }> {
  return new Promise((resolve) => {
    const socket = connect(portOf(sentTo), '127.0.0.1');
    const startMs = performance.now();
    let text = '';
    socket.on('data', (part) => (text += part));
    socket.on('error', () => undefined);
    socket.write(opening);
    const sending = setInterval(() => socket.write(more), TRICKLE_EVERY_MS);
    const finish = (): void => {
      clearInterval(sending);
      socket.destroy();
      resolve({ text, afterMs: performance.now() - startMs });
    };
    socket.on('end', finish).on('close', finish);
  });
}

async function expectCut(count: number, opening: string, more: string, withinMs: number): Promise<void> {
  const cut = await Promise.all(Array.from({ length: count }, () => trickle(opening, more)));
  for (const { text, afterMs } of cut) {
    expect(text).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
    expect(afterMs).toBeGreaterThan(withinMs - 500);
    expect(afterMs).toBeLessThan(withinMs + LATE_MS);
  }
}

/** Ends a task of the session with a result of this many characters. */
async function endTask(session: string, agent_id: string, chars: number): Promise<void> {
  const request_id = await submit(readFrom.baseUrl, { cli_session_id: session, task_tags: [agent_id] });
  const reportIt = async (): Promise<void> => {
    const report = { request_id, agent_id, status: 'success', result: { output: 'x'.repeat(chars) } };
    expect((await post(readFrom.baseUrl, '/api/agent/result', report)).status).toBe(200);
  };
  await vi.waitFor(reportIt, { timeout: 60_000 });
}

describe('while hundreds are slow', () => {
  test.concurrent(`${SENDERS / 2} senders of headers are cut after 10 s`, () =>
    expectCut(SENDERS / 2, `GET /livez ${HEAD}X-Slow: `, 'x', HEADERS_MS));

  test.concurrent(`${SENDERS / 2} senders of bodies are cut after 30 s`, () =>
    expectCut(SENDERS / 2, `POST /api/cli/tasks ${HEAD}Content-Length: 1000\r\n\r\n{`, ' ', REQUEST_MS));

  // Each of these may become as long as is allowed, and together far more than may be read at a time.
  test.concurrent(
    `${SENDERS} senders of bodies without a length are cut after 30 s`,
    { timeout: 300_000 },
    () =>
      expectCut(
        SENDERS,
        `POST /api/cli/tasks ${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
        '1\r\n \r\n',
        REQUEST_MS,
      ),
  );

  test.concurrent(`${READERS} readers that take nothing are let go after 30 s`, {
    timeout: READERS_LATE_MS + 120_000,
  }, async () => {
    const session = 'stalled';
    const agent_id = 'writer';
    const registered = {
      auth: SECRET,
      agent_id,
      endpoint: 'pull',
      agent_tags: [agent_id],
      max_concurrent: 100,
    };
    await post(readFrom.baseUrl, '/api/agent/register', registered);
    // More than the buffers of a connection hold, also where they are large.
    for (let n = 0; n < 160; n += 1) await endTask(session, agent_id, 65_536);
    const descriptors = countDescriptors(readFrom.pid);
    const beforeKiB = readRssKiB(readFrom.pid);
    const sockets: Socket[] = Array.from({ length: READERS }, () => {
      const socket = connect(portOf(readFrom), '127.0.0.1');
      socket.pause();
      socket.on('error', () => undefined);
      socket.write(`GET /api/cli/events?cli_session_id=${session}&auth=${SECRET} ${HEAD}\r\n`);
      return socket;
    });
    const startMs = performance.now();
    await vi.waitFor(
      () => expect(countDescriptors(readFrom.pid)).toBeGreaterThanOrEqual(descriptors + READERS),
      {
        timeout: 300_000,
      },
    );
    let mostKiB = 0;
    await vi.waitFor(
      () => {
        mostKiB = Math.max(mostKiB, readRssKiB(readFrom.pid));
        expect(countDescriptors(readFrom.pid)).toBeLessThanOrEqual(descriptors);
      },
      { timeout: STALL_MS + READERS_LATE_MS, interval: 250 },
    );
    const afterMs = performance.now() - startMs;
    printFigure('stalled-reader-memory', (mostKiB - beforeKiB) / READERS, 'KiB');
    printFigure('stalled-reader-cut', afterMs / 1_000, 's');
    expect(afterMs).toBeGreaterThan(STALL_MS - 500);
    expect(mostKiB - beforeKiB).toBeLessThan(READERS_KIB);
    for (const socket of sockets) socket.destroy();
  });

  test.concurrent(`${LARGE_READERS} readers of a large task are let go within 30 s`, {
    timeout: READERS_LATE_MS,
  }, async () => {
    const gateway = await startGateway();
    try {
      const id = await submit(gateway.baseUrl, { payload: { text: 'x'.repeat(LARGE_CHARS) } });
      const descriptors = countDescriptors(gateway.pid);
      const startMs = performance.now();
      const sockets = Array.from({ length: LARGE_READERS }, () => {
        const socket = connect(portOf(gateway), '127.0.0.1');
        socket.pause();
        socket.on('error', () => undefined);
        socket.write(`GET /api/cli/tasks/${id}?auth=${SECRET} ${HEAD}\r\n`);
        return socket;
      });
      const count = () => expect(countDescriptors(gateway.pid));
      await vi.waitFor(() => count().toBeGreaterThan(descriptors + LARGE_READERS / 2), { timeout: 60_000 });
      await vi.waitFor(() => count().toBeLessThanOrEqual(descriptors + 4), {
        timeout: LATE_MS,
        interval: 250,
      });
      printFigure('reader-of-a-large-task-cut', (performance.now() - startMs) / 1_000, 's');
      for (const socket of sockets) socket.destroy();
    } finally {
      await gateway.stop();
    }
  });
});
