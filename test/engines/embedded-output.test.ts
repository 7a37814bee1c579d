/** What output takes in the embedded engine: reads of the file, writes of the disk, the main thread. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openFileHere, openThreadedFile } from '../../server/engines/embedded/open.ts';
import { keepInMemory } from '../../server/engines/embedded/storage/memory-storage.ts';
import { openKeyv, type StorageAdapter } from '../../server/engines/embedded/storage/ordered-storage.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import { STORE_LIMITS } from '../../server/ports/limits.ts';
import type { Store } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { createFakeClock, flushMicrotasks } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { createTestFolder } from './embedded-under-test.ts';
import { append, begin, readPieces, textOf } from './output-calls.ts';
import { follow, settle, submit, until } from './store-under-test.ts';

const PIECE_MS_MAX = 25;
const RETENTION = { keepTasksMs: 1e9, sessionEventsMax: 1_000, outputBytesMax: 2 ** 28 };
const A = textOf('a');

let store: Store | undefined;
let testFolder: ReturnType<typeof createTestFolder>;
beforeEach(() => {
  testFolder = createTestFolder();
});
afterEach(async () => {
  await store?.close();
  testFolder.remove();
});

describe('a group of output alone', () => {
  test('waits until 10 ms after the last write; what else joins it is written at once', async () => {
    const clock = createFakeClock();
    store = await createEmbeddedStore({ openStorage: keepInMemory(), clock, log: SILENT, outputEveryMs: 10 });
    const opened = store;
    await submit(opened, 't1');
    await begin(opened, 't1', 'w');
    const first = follow(append(opened, 't1', 'w', 0, [A]));
    await clock.advance(9);
    expect(first.now()).toBe('waiting');
    const second = follow(append(opened, 't1', 'w', 1, [A]));
    await clock.advance(1);
    await until('both are stored', () => first.now() === 'done' && second.now() === 'done');
    const third = follow(append(opened, 't1', 'w', 2, [A]));
    await submit(opened, 't2');
    expect(third.now()).toBe('done');
    await clock.advance(10);
    await append(opened, 't1', 'w', 3, [A]);
    expect(await readPieces(opened, 't1')).toHaveLength(4);
  });

  test('is written at the latest when the store is closed', async () => {
    store = await createEmbeddedStore({
      openStorage: () => openThreadedFile(testFolder.path),
      clock: createClock(),
      log: SILENT,
      outputEveryMs: 10,
    });
    await submit(store, 't1');
    await begin(store, 't1', 'w');
    const appended = append(store, 't1', 'w', 0, [A]);
    await store.close();
    expect(await appended).toMatchObject({ ok: true, next: 1 });
  });
});

test('a start reads no output; of a task it is read at its first write, and nothing by a reader that has all', async () => {
  const openStorage = () => openFileHere(testFolder.path);
  const clock = createFakeClock();
  store = await createEmbeddedStore({ openStorage, clock, log: SILENT });
  for (const id of ['t1', 't2']) await submit(store, id);
  await begin(store, 't1', 'w', [A]);
  await store.close();
  const scans: string[] = [];
  store = await createEmbeddedStore({
    async openStorage() {
      const keyv = await openStorage();
      const adapter = keyv.store as unknown as StorageAdapter;
      const scan: StorageAdapter['scan'] = async (from, ...more) => {
        if (from.startsWith('output/')) scans.push(from);
        return await adapter.scan(from, ...more);
      };
      return openKeyv({ ...adapter, scan });
    },
    clock,
    log: SILENT,
  });
  await store.readOutput('t2', 0, 9);
  await settle(store, 't2');
  expect(scans).toEqual([]);
  await append(store, 't1', 'w', 1, [A]);
  await append(store, 't1', 'w', 2, [A]);
  expect(scans).toEqual(['output/t1/']);
  expect((await store.readOutput('t1', 3, 9)).last).toBe(3);
  expect(scans).toEqual(['output/t1/']);
});

test('a page that is read while pieces are written has them, or does not go beyond them', async () => {
  const clock = createFakeClock();
  let isWritten: (() => Promise<unknown>) | undefined;
  let scans = 0;
  store = await createEmbeddedStore({
    async openStorage() {
      const keyv = await keepInMemory()();
      const adapter = keyv.store as unknown as StorageAdapter;
      const scan: StorageAdapter['scan'] = async (...range) => {
        const rows = await adapter.scan(...range);
        if (!range[0].startsWith('output/')) return rows;
        scans += 1;
        const write = isWritten;
        isWritten = undefined;
        await write?.();
        return rows;
      };
      return openKeyv({ ...adapter, scan });
    },
    clock,
    log: SILENT,
    outputEveryMs: 10,
  });
  await submit(store, 't1');
  await begin(store, 't1', 'w', [A]);
  // The pieces of the last two writes are in memory, as long as one of both is durable.
  scans = 0;
  const second = append(store, 't1', 'w', 1, [A]);
  await flushMicrotasks();
  expect([(await store.readOutput('t1', 0, 9)).last, scans]).toEqual([1, 0]);
  const written = Promise.all([second, append(store, 't1', 'w', 2, [A])]);
  await flushMicrotasks();
  isWritten = async () => {
    await clock.advance(10);
    await written;
  };
  const { pieces, last } = await store.readOutput('t1', 1, 9);
  expect([isWritten, pieces.map(({ n }) => n), last]).toEqual([undefined, [2, 3], 3]);
});

describe('no piece of the main thread takes 25 ms', () => {
  test('for the smallest pieces and the largest, a write each: to append, to read, to remove', async () => {
    const clock = createClock();
    store = await createEmbeddedStore({
      openStorage: () => openThreadedFile(testFolder.path),
      clock,
      log: SILENT,
    });
    const opened = store;
    const small = Math.floor(STORE_LIMITS.outputBytesMax / (A.length + STORE_LIMITS.outputPieceBytes));
    const large = textOf('中'.repeat(21_000));
    const texts = Array.from({ length: 100 }, () => textOf('x'.repeat(600)));
    const slowest: Record<string, number> = {};
    const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
      slowest[name] = Math.min(slowest[name] ?? Number.POSITIVE_INFINITY, await measurePieces(work));
    };
    // A piece may be long because memory is collected in it, or because of other work: the least counts.
    for (let round = 0; round < 5; round += 1) {
      const [ofSmall, ofLarge, ofMany] = [`small ${round}`, `large ${round}`, `many ${round}`];
      await fill(opened, ofSmall, A, small);
      await fill(opened, ofLarge, large, 60);
      await fill(opened, ofMany, texts.join(''), 0);
      await measure('append', () => append(opened, ofMany, 'w', 0, texts));
      await measure('read small', () => opened.readOutput(ofSmall, 20_000, 1_000));
      await measure('read large', () => opened.readOutput(ofLarge, 3, 1_000));
      for (const id of [ofSmall, ofLarge, ofMany]) await settle(opened, id);
      const removeSome = () => opened.trim({ ...RETENTION, outputBytesMax: 1 }, 500);
      await measure('remove', removeSome);
      await measure('remove all', async () => {
        while ((await removeSome()) > 0);
      });
      if (Object.values(slowest).every((ms) => ms <= PIECE_MS_MAX)) break;
    }
    console.info('longest piece of the main thread, ms of CPU', slowest);
    for (const ms of Object.values(slowest)) expect(ms).toBeLessThanOrEqual(PIECE_MS_MAX);
  });
});

/** Appends a piece this often, each by a call of its own. */
async function fill(store: Store, id: string, piece: string, count: number): Promise<void> {
  await submit(store, id);
  await begin(store, id, 'w');
  for (let from = 0; from < count; from += 500) {
    const calls = Array.from({ length: Math.min(500, count - from) }, (_, index) => from + index);
    await Promise.all(calls.map((number) => append(store, id, 'w', number, [piece])));
  }
}

/** Runs the work; the longest that the thread went on without a turn of the event loop, ms of its CPU. */
async function measurePieces(work: () => Promise<unknown>): Promise<number> {
  let longestUs = 0;
  let isOver = false;
  let before = process.threadCpuUsage();
  const tick = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    longestUs = Math.max(longestUs, user + system);
    before = process.threadCpuUsage();
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  isOver = true;
  await new Promise((resolve) => setImmediate(resolve));
  return longestUs / 1_000;
}
