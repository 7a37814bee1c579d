/**
 * Callers ask for large answers and do not read them, or all at once: what they hold of the process is
 * bounded, and who takes nothing is let go.
 */
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { submit } from '../../e2e/plain-calls.ts';
import { printFigure } from '../../harness/figures.ts';
import { makeFolder } from '../../harness/folder.ts';
import {
  type GatewayProcess,
  SECRET,
  startGateway,
  startLimitedGateway,
} from '../../harness/gateway-process.ts';
import { countDescriptors, readRssKiB } from '../process-cost.ts';

const READERS = 200;
const LARGE_CHARS = 1_000_000;
const LARGE_TASKS = 20;
/** 256 MiB of unread bytes, and what a heap swings by while twenty such values are read and written. */
const HELD_KIB = 600 * 1_024;

let gateway: GatewayProcess;
let port: number;
const ids: string[] = [];
let folder: ReturnType<typeof makeFolder>;
beforeAll(async () => {
  folder = makeFolder();
  const env = { STORE: `sqlite:${join(folder.path, 'gateway.db')}` };
  // Instead of 30 s.
  gateway = await startLimitedGateway({ stallMs: 4_000 }, env);
  port = Number(new URL(gateway.baseUrl).port);
  for (let n = 0; n < LARGE_TASKS; n += 1) {
    ids.push(await submit(gateway.baseUrl, { payload: { text: 'x'.repeat(LARGE_CHARS) } }));
  }
});
afterAll(async () => {
  await gateway?.stop();
  folder?.remove();
});

/** A caller that sends requests and takes no byte of what it is sent. */
function openUnread(requests: string): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(requests);
  return socket;
}

const largeGet = (n: number): string =>
  `GET /api/cli/tasks/${ids[n % ids.length]}?auth=${SECRET} HTTP/1.1\r\nHost: a\r\n\r\n`;

/** The most memory that the process holds from now until the returned function is called, in KiB. */
function watchMemory(): () => number {
  let mostKiB = readRssKiB(gateway.pid);
  const looking = setInterval(() => (mostKiB = Math.max(mostKiB, readRssKiB(gateway.pid))), 50);
  onTestFinished(() => clearInterval(looking));
  return () => {
    clearInterval(looking);
    return mostKiB;
  };
}

/** Resolves when the gateway has more descriptors open; on a slow machine connections take a while. */
async function untilMoreThan(descriptors: number): Promise<void> {
  const look = () => expect(countDescriptors(gateway.pid)).toBeGreaterThan(descriptors);
  await vi.waitFor(look, { timeout: 60_000 });
}

test.each([
  ['one large answer each', 1],
  ['many large answers, all asked for at once', 20],
])(`${READERS} readers of %s who take nothing`, { timeout: 300_000 }, async (what, requests) => {
  const beforeKiB = readRssKiB(gateway.pid);
  const readMostKiB = watchMemory();
  const descriptors = countDescriptors(gateway.pid);
  const sockets = Array.from({ length: READERS }, (_, n) => openUnread(largeGet(n).repeat(requests)));
  try {
    await untilMoreThan(descriptors + READERS / 2);
    // Rejects unless it is accepted.
    await submit(gateway.baseUrl);
    const count = () => expect(countDescriptors(gateway.pid));
    await vi.waitFor(() => count().toBeLessThanOrEqual(descriptors + 4), { timeout: 90_000, interval: 250 });
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  printFigure(`readers: ${what}, memory`, (readMostKiB() - beforeKiB) / 1_024, 'MB');
  expect(readMostKiB() - beforeKiB).toBeLessThan(HELD_KIB);
});

const AT_ONCE = 1_000;

/** The status of a response; it is read to its end. */
function readStatus(url: URL, request: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(Number(url.port), url.hostname);
  let status = '';
  socket.on('data', (bytes: Buffer) => {
    status ||= bytes.toString('latin1', 9, 12);
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(status));
  socket.write(request);
  return promise;
}

/**
 * One large value is read at a time, so what a caller waits for is not held meanwhile: a thousand such values
 * would be four times this heap. It took 110 MB, with the garbage of all connections.
 */
test(`${AT_ONCE} callers at once who read large tasks are served on a heap of 256 MB`, async () => {
  const store = makeFolder();
  onTestFinished(store.remove);
  const small = await startGateway({
    STORE: `sqlite:${join(store.path, 'gateway.db')}`,
    NODE_OPTIONS: '--max-old-space-size=256',
  });
  onTestFinished(async () => void (await small.stop()));
  const url = new URL(small.baseUrl);
  const payload = { text: 'x'.repeat(LARGE_CHARS) };
  const large = await Promise.all(Array.from({ length: 5 }, () => submit(small.baseUrl, { payload })));
  const beforeKiB = readRssKiB(small.pid);
  const statuses = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) =>
      readStatus(
        url,
        `GET /api/cli/tasks/${large[n % 5]}?auth=${SECRET} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      ),
    ),
  );
  const heldKiB = readRssKiB(small.pid) - beforeKiB;
  printFigure('readers: a thousand at once, memory', heldKiB / 1_024, 'MB');
  expect(new Set(statuses)).toEqual(new Set(['200']));
  expect(heldKiB).toBeLessThan(300 * 1_024);
});
