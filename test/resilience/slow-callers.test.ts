/**
 * Callers that send or read too slowly, over the real process with shorter times than the contract gives:
 * they are disconnected then, and cost little. All kinds at once, so that the times are waited for once.
 */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { HTTP_LIMITS } from '../../server/http/http.ts';
import { post, submit } from '../e2e/plain-calls.ts';
import { printFigure } from '../harness/figures.ts';
import { type GatewayProcess, SECRET, startLimitedGateway } from '../harness/gateway-process.ts';
import { countDescriptors, readRssKiB } from './process-cost.ts';
import { SCALE } from './soak.ts';

const SENDERS = Math.min(1_000, Math.round(200 * SCALE));
const READERS = SENDERS;
/** What the readers may cost together. Most of it is what the heap swings by while they are served. */
const READERS_KIB = READERS * 1_024 + 256 * 1_024;
/** When each is disconnected, and how much later that may be observed beside other work. */
const LIMITS = { headersMs: 2_000, requestMs: 4_000, stallMs: 4_000, streamsOfOneMax: READERS };
const LATE_MS = 90_000;
/** The events first fill what the connections buffer: gigabytes, which a busy machine copies slowly. */
const READERS_LATE_MS = 240_000;
const TRICKLE_EVERY_MS = 500;
const HEAD = 'HTTP/1.1\r\nHost: a\r\n';

/** A gateway for each kind of slowness, so that the cost of each can be measured. */
let sentTo: GatewayProcess;
let readFrom: GatewayProcess;
beforeAll(async () => {
  [sentTo, readFrom] = await Promise.all([startLimitedGateway(LIMITS), startLimitedGateway(LIMITS)]);
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

test('The contract gives 10 s for headers, 30 s for a request, and 30 s to a reader that takes nothing.', () => {
  expect(HTTP_LIMITS).toMatchObject({ headersMs: 10_000, requestMs: 30_000, stallMs: 30_000 });
});

describe('while hundreds are slow', () => {
  test.concurrent(`${SENDERS / 2} senders of headers are cut`, () =>
    expectCut(SENDERS / 2, `GET /livez ${HEAD}X-Slow: `, 'x', LIMITS.headersMs));

  test.concurrent(`${SENDERS / 2} senders of bodies are cut`, () => {
    const head = `POST /api/cli/tasks ${HEAD}Content-Length: 1000\r\n\r\n{`;
    return expectCut(SENDERS / 2, head, ' ', LIMITS.requestMs);
  });

  // Each of these may become as long as is allowed, and together far more than may be read at a time.
  test.concurrent(`${SENDERS} senders of bodies without a length are cut`, { timeout: 300_000 }, () =>
    expectCut(
      SENDERS,
      `POST /api/cli/tasks ${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      '1\r\n \r\n',
      LIMITS.requestMs,
    ),
  );

  test.concurrent(`${READERS} readers that take nothing are let go`, {
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
      { timeout: READERS_LATE_MS, interval: 250 },
    );
    const afterMs = performance.now() - startMs;
    printFigure('stalled-reader-memory', (mostKiB - beforeKiB) / READERS, 'KiB');
    printFigure('stalled-reader-cut', afterMs / 1_000, 's');
    expect(afterMs).toBeGreaterThan(LIMITS.stallMs - 500);
    expect(mostKiB - beforeKiB).toBeLessThan(READERS_KIB);
    for (const socket of sockets) socket.destroy();
  });
});
