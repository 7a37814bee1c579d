/**
 * Party A asks for large answers and does not read them. Party B is served as before, what A holds of the
 * process is bounded, and A is disconnected within the promised time, after which all of it is free.
 */
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { buildCall, type Call } from '../../contract/usual-calls.ts';
import { submit } from '../../e2e/plain-calls.ts';
import { printFigure } from '../../harness/figures.ts';
import { makeFolder } from '../../harness/folder.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { countDescriptors, readRssKiB } from '../process-cost.ts';
import { expectUnaffected, measureBeside, SCALE } from './beside.ts';

const READERS = 200;
const LARGE_CHARS = 1_000_000;
const LARGE_TASKS = 20;
/** A trusted proxy on the loopback interface names both parties. */
const A = '203.0.113.1';
const B = '198.51.100.7';
const HEAD = `HTTP/1.1\r\nHost: a\r\nX-Admin-Auth: ${ADMIN_SECRET}\r\n`;
const HEAD_OF_A = `${HEAD}X-Forwarded-For: ${A}\r\n\r\n`;
/**
 * The promise is 30 s from the moment at which a response is there to be read, looked at each 2.5 s; a read
 * begins within 10 s or is refused, however many there are. The rest is for a busy machine.
 */
const CUT_WITHIN_MS = 60_000;
/** B's own large reads have every other turn, of the large work and of writing: 3 × alone, or this. */
const LARGE_WITHIN_MS = 1_000;
/** Where nothing is known of the callers, B is one of 201; a read begins within 10 s. */
const UNKNOWN_WITHIN_MS = 12_000;
/** 256 MiB of unread bytes, and what a heap swings by while twenty such values are read and written. */
const HELD_KIB = 600 * 1_024;

let gateway: GatewayProcess;
let port: number;
const ids: string[] = [];
let smallId = '';
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
let folder: ReturnType<typeof makeFolder>;
beforeAll(async () => {
  folder = makeFolder();
  gateway = await startGateway({
    STORE: `sqlite:${join(folder.path, 'gateway.db')}`,
    TRUSTED_PROXIES: '127.0.0.0/8, ::1',
  });
  port = Number(new URL(gateway.baseUrl).port);
  smallId = await submit(gateway.baseUrl);
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

const largeGet = (n: number, head = HEAD_OF_A): string =>
  `GET /api/cli/tasks/${ids[n % ids.length]}?auth=${SECRET} ${head}`;

/** Reads a large task as party B; resolves with the time until its last byte. */
async function timeLargeGet(
  from: Readonly<Record<string, string>> = { 'x-forwarded-for': B },
): Promise<number> {
  const startMs = performance.now();
  const headers = { authorization: `Bearer ${SECRET}`, ...from };
  const response = await fetch(`${gateway.baseUrl}/api/cli/tasks/${ids[0]}`, { headers });
  expect([response.status, (await response.arrayBuffer()).byteLength > LARGE_CHARS]).toEqual([200, true]);
  return performance.now() - startMs;
}

/** The longest of some large reads of party B, one after the other. */
async function timeLargeGets(): Promise<number> {
  let longestMs = 0;
  for (let n = 0; n < 5; n += 1) longestMs = Math.max(longestMs, await timeLargeGet());
  return longestMs;
}

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

const callFromB = (call: Call): Call => ({ ...call, headers: { ...call.headers, 'x-forwarded-for': B } });

const kinds = [
  ['one large answer each', (n: number) => largeGet(n)],
  ['many large answers, all asked for at once', (n: number) => largeGet(n).repeat(20)],
] as const;

/** A long run waits until they are disconnected; else `slow-callers.test.ts` does, beside its other waits. */
const IS_CUT_AWAITED = SCALE > 1;

test.each(kinds)(
  `beside ${READERS} readers of %s who take nothing`,
  { timeout: 300_000 },
  async (what, requests) => {
    const beforeKiB = readRssKiB(gateway.pid);
    const readMostKiB = watchMemory();
    const descriptors = countDescriptors(gateway.pid);
    const sockets: Socket[] = [];
    let startMs = 0;
    let largeMs = 0;
    const aloneMs = await timeLargeGets();
    const measured = await measureBeside({
      name: `readers: ${what}`,
      baseUrl: gateway.baseUrl,
      calls: [buildCall('submitTask', secrets), buildCall('getTask', secrets, {}, smallId)].map(callFromB),
      async takeAll() {
        startMs = performance.now();
        for (let n = 0; n < READERS; n += 1) sockets.push(openUnread(requests(n)));
        await untilMoreThan(descriptors + READERS / 2);
        largeMs = await timeLargeGets();
        return async () => {};
      },
    });
    try {
      if (!IS_CUT_AWAITED) for (const socket of sockets) socket.destroy();
      await vi.waitFor(() => expect(countDescriptors(gateway.pid)).toBeLessThanOrEqual(descriptors + 4), {
        timeout: CUT_WITHIN_MS,
        interval: 250,
      });
    } finally {
      printFigure(`readers: ${what}, over`, (performance.now() - startMs) / 1_000, 's');
      printFigure(`readers: ${what}, a large read beside (alone ${aloneMs.toFixed(0)} ms)`, largeMs, 'ms');
      printFigure(`readers: ${what}, memory`, (readMostKiB() - beforeKiB) / 1_024, 'MB');
      for (const socket of sockets) socket.destroy();
    }
    expect(readMostKiB() - beforeKiB).toBeLessThan(HELD_KIB);
    expect(largeMs).toBeLessThan(Math.max(3 * aloneMs, LARGE_WITHIN_MS));
    expectUnaffected(measured);
  },
);

/** All are served then, one after the other: so many that a slow machine reads them all in ten seconds. */
const UNKNOWN_READERS = READERS / 2;

test(`beside ${UNKNOWN_READERS} readers who take nothing, where nothing is known of any caller`, async () => {
  const descriptors = countDescriptors(gateway.pid);
  const sockets = Array.from({ length: UNKNOWN_READERS }, (_, n) => openUnread(largeGet(n, `${HEAD}\r\n`)));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await untilMoreThan(descriptors + UNKNOWN_READERS / 2);
  const largeMs = await timeLargeGet({});
  printFigure('readers: unknown callers, a large read beside', largeMs, 'ms');
  expect(largeMs).toBeLessThan(UNKNOWN_WITHIN_MS);
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
 * Nothing is read before its caller is next, so what a caller waits for is not held meanwhile: a thousand
 * such values would be four times this heap. It took 86 to 244 MB, with the garbage of all connections.
 */
test(`${AT_ONCE} callers at once who read large tasks are served or refused on a heap of 256 MB`, async () => {
  const store = makeFolder();
  onTestFinished(store.remove);
  const small = await startGateway({
    STORE: `sqlite:${join(store.path, 'gateway.db')}`,
    TRUSTED_PROXIES: '127.0.0.0/8',
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
        `GET /api/cli/tasks/${large[n % 5]}?auth=${SECRET} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n` +
          `X-Forwarded-For: 203.0.113.${n % 100}\r\n\r\n`,
      ),
    ),
  );
  printFigure(
    'readers: a thousand at once, served',
    statuses.filter((one) => one === '200').length,
    'of 1,000',
  );
  const heldKiB = readRssKiB(small.pid) - beforeKiB;
  printFigure('readers: a thousand at once, memory', heldKiB / 1_024, 'MB');
  expect(statuses.filter((one) => one !== '200' && one !== '503')).toEqual([]);
  expect(statuses).toContain('200');
  expect(heldKiB).toBeLessThan(300 * 1_024);
});
