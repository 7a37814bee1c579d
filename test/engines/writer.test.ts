/**
 * The writer thread and the main thread wake each other; a wake may come late, when its sleeper already waits
 * for the next group. Neither may take it for that one.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MessageChannel, Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openReader } from '../../server/engines/embedded/sqlite/database.ts';
import {
  createCounts,
  SENT,
  startWriter,
  WRITTEN,
  type WriterMessage,
} from '../../server/engines/embedded/sqlite/writer.ts';
import { createTestFolder } from './embedded-under-test.ts';

const THREAD = new URL('../../server/engines/embedded/sqlite/writer-thread.ts', import.meta.url);
/** Writing this many rows takes the thread longer than a wake takes to arrive. */
const ROWS = 20_000;

let testFolder: ReturnType<typeof createTestFolder>;
beforeEach(() => {
  testFolder = createTestFolder();
});
afterEach(() => testFolder.remove());

function readBack(key: string): string | undefined {
  const reader = openReader(testFolder.path);
  try {
    return reader.get(key);
  } finally {
    reader.close();
  }
}

test('a wake that comes late does not end the writer thread: it sleeps on until a group was sent', async () => {
  const counts = createCounts();
  const { port1, port2 } = new MessageChannel();
  const workerData = { path: testFolder.path, counts, requests: port2 };
  const worker = new Worker(THREAD, { workerData, transferList: [port2], execArgv: [] });
  const messages: WriterMessage[] = [];
  worker.on('message', (message: WriterMessage) => messages.push(message));
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
  send({ sets: ['key', 'value'], deletes: [] });
  await Promise.race([written.value, exited]);
  send('close');
  await exited;
  expect(messages).toEqual([{ ok: true }]);
  expect(readBack('key')).toBe('value');
});

test('a wake that comes late acknowledges no group that is not written', async () => {
  const counts = createCounts();
  const writer = await startWriter(testFolder.path, counts);
  const rows = new Map(Array.from({ length: ROWS }, (_, n) => [`key ${n}`, 'value']));
  let wakes = 0;
  // Where this thread stood still, a group was written before the wake: then the next one is tried.
  for (let groups = 0; groups < 20 && wakes === 0; groups += 1) {
    const written = writer.apply(rows, new Set());
    wakes = Atomics.notify(counts, WRITTEN);
    await written;
    expect(Atomics.load(counts, WRITTEN)).toBe(groups + 1);
  }
  expect(wakes).toBe(1);
  expect(readBack(`key ${ROWS - 1}`)).toBe('value');
  await writer.close();
});
