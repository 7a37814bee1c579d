/**
 * The writer thread and the main thread wake each other; a wake may come late, when its sleeper already waits
 * for the next group. Neither may take it for that one.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MessageChannel, Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RENEW } from '../../server/engines/sqlite/calls.ts';
import {
  createCounts,
  SENT,
  startWriter,
  WRITTEN,
  type WriterData,
} from '../../server/engines/sqlite/writer.ts';
import { createTestFolder } from './sqlite-under-test.ts';

const THREAD = new URL('../../server/engines/sqlite/writer-thread.ts', import.meta.url);
/** Writing this many takes the thread longer than a wake takes to arrive. */
const LEASES = 20_000;

let testFolder: ReturnType<typeof createTestFolder>;
beforeEach(() => {
  testFolder = createTestFolder();
});
afterEach(() => testFolder.remove());

/** A group that renews this many leases, none of which is there. */
function buildGroup(count: number): readonly unknown[] {
  return [0, RENEW, count, ...Array.from({ length: count }, (_, n) => [`task:${n}`, 'lease']).flat()];
}

test('a wake that comes late does not end the writer thread: it sleeps on until a group was sent', async () => {
  const counts = createCounts();
  const { port1, port2 } = new MessageChannel();
  const earliest = new Float64Array(new SharedArrayBuffer(8));
  const workerData: WriterData = { path: testFolder.path, counts, earliest, requests: port2 };
  const worker = new Worker(THREAD, { workerData, transferList: [port2], execArgv: [] });
  const messages: unknown[] = [];
  worker.on('message', (message) => messages.push(message));
  let isRunning = true;
  const exited = new Promise((resolve) => worker.once('exit', resolve)).then(() => {
    isRunning = false;
  });
  for (let wakes = 0; wakes < 3 && isRunning; ) {
    wakes += Atomics.notify(counts, SENT);
    await nextTurn();
  }
  const send = (request: unknown): void => {
    port1.postMessage(request);
    Atomics.add(counts, SENT, 1);
    Atomics.notify(counts, SENT);
  };
  const written = Atomics.waitAsync(counts, WRITTEN, 0);
  send(buildGroup(1));
  await Promise.race([written.value, exited]);
  expect(Atomics.load(counts, WRITTEN)).toBe(1);
  send('close');
  await exited;
  expect(messages).toEqual(['open']);
});

test('a wake that comes late acknowledges no group that is not written', async () => {
  const counts = createCounts();
  const writer = await startWriter(testFolder.path, counts);
  let wakes = 0;
  // Where this thread stood still, a group was written before the wake: then the next one is tried.
  for (let groups = 0; groups < 20 && wakes === 0; groups += 1) {
    const written = writer.apply(buildGroup(LEASES));
    wakes = Atomics.notify(counts, WRITTEN);
    await written;
    expect(Atomics.load(counts, WRITTEN)).toBe(groups + 1);
  }
  expect(wakes).toBe(1);
  await writer.close();
});
