/**
 * What the embedded engine counts of its tasks, through a crash.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { STEP_MS } from '../../server/domain/activity.ts';
import type { TaskOutcome } from '../../server/domain/history-record.ts';
import { fillOutcomes } from '../../server/domain/task-counts.ts';
import { keepInMemory } from '../../server/engines/embedded/storage/memory-storage.ts';
import { orderStorage } from '../../server/engines/embedded/storage/ordered-storage.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Log } from '../../server/ports/log.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { endAs } from './counting.suite.ts';
import { assign, must, readState, register, submit, until } from './store-under-test.ts';

const START_MS = 1_700_000_010_000;
const RETENTION = { keepTasksMs: 60_000, sessionEventsMax: 1_000, outputBytesMax: 2 ** 28 };

let openMemory: ReturnType<typeof keepInMemory>;
let clock: FakeClock;
let opened: Store[];
let warnings: string[];
const log: Log = { ...SILENT, warn: (_fields, message) => void warnings.push(message) };
beforeEach(() => {
  openMemory = keepInMemory();
  clock = createFakeClock();
  opened = [];
  warnings = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
});

/** Opens a store over the data, whether the one before was closed or not. */
async function open(): Promise<Store> {
  const wallMs = (): number => START_MS + clock.nowMs();
  const store = await createEmbeddedStore({ openStorage: openMemory, clock, log, wallMs });
  opened.push(store);
  return store;
}

async function end(store: Store, id: string, outcome: TaskOutcome): Promise<void> {
  await submit(store, id);
  await endAs(store, id, outcome);
}

const listFailed = async (store: Store): Promise<readonly string[]> =>
  (await store.list('tasks', { outcome: 'failed' }, { limit: 9 })).items.map(({ request_id }) => request_id);

describe('after a crash', () => {
  test('the counts of tasks are exact, and at most the present step of the activity is lost', async () => {
    const crashed = await open();
    await register(crashed, 'A', { max_concurrent: 9 });
    await end(crashed, 'first', 'failed');
    await clock.advance(STEP_MS);
    await submit(crashed, 'second');
    must(await assign(crashed, 'second', 'A'));
    await endAs(crashed, 'second', 'cancelled');
    const expected = {
      pending: 0,
      running: 0,
      waiting: 0,
      ended: fillOutcomes({ failed: 1, cancelled: 1 }),
    };
    const store = await open();
    expect(await store.readCounts(0)).toMatchObject(expected);
    const ended = (await store.readActivity()).slice(-2).map((step) => step.ended);
    expect(ended).toEqual([fillOutcomes({ failed: 1 }), fillOutcomes()]);
    expect(await listFailed(store)).toEqual(['first']);
  });

  test('a step that was over is there although nothing was committed since', async () => {
    const crashed = await open();
    await end(crashed, 'only', 'failed');
    await clock.advance(STEP_MS);
    expect(await crashed.trim({ ...RETENTION, keepTasksMs: 1e9 }, 10)).toBe(0);
    await until('the step is written', async () => {
      const store = await open();
      const ended = (await store.readActivity()).at(-2)?.ended;
      await store.close();
      return ended?.failed === 1;
    });
  });

  test('a damaged step is left out with a warning, and refuses no start', async () => {
    const first = await open();
    await end(first, 'only', 'failed');
    await first.close();
    const storage = orderStorage(await openMemory());
    const [row] = await storage.scan({ from: 'activity/', to: 'activity0' }, 1);
    await storage.apply(new Map([[row?.[0] ?? '', 'not JSON']]), new Set());
    const store = await open();
    expect((await store.readActivity()).at(-1)?.ended).toEqual(fillOutcomes());
    expect((await readState(store, 'only')).value.status).toBe('failed');
    expect(warnings).toEqual([
      'the stored figures of the last quarter of an hour are damaged and were left out',
    ]);
  });
});
