/**
 * What the embedded engine counts of its tasks, through a crash, and through gateways of version 1.0, which
 * count nothing: before this one, and in between.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { STEP_MS } from '../../server/domain/activity.ts';
import type { TaskOutcome } from '../../server/domain/history-record.ts';
import { fillOutcomes } from '../../server/domain/task-counts.ts';
import { keepInMemory } from '../../server/engines/embedded/open.ts';
import { orderStorage } from '../../server/engines/embedded/sqlite/ordered-storage.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Log } from '../../server/ports/log.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { endAs } from './counting.suite.ts';
import { assign, must, readState, register, submit, until } from './store-under-test.ts';

const START_MS = 1_700_000_010_000;
const RETENTION = { keepTasksMs: 60_000, sessionEventsMax: 1_000 };

let memory: ReturnType<typeof keepInMemory>;
let clock: FakeClock;
let opened: Store[];
let warnings: string[];
const log: Log = { ...SILENT, warn: (_fields, message) => void warnings.push(message) };
beforeEach(() => {
  memory = keepInMemory();
  clock = createFakeClock();
  opened = [];
  warnings = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
  memory.close();
});

/** Opens a store over the data, whether the one before was closed or not. */
async function open(): Promise<Store> {
  const wallMs = (): number => START_MS + clock.nowMs();
  const store = await createEmbeddedStore({ openStorage: memory.open, clock, log, wallMs });
  opened.push(store);
  return store;
}

async function end(store: Store, id: string, outcome: TaskOutcome): Promise<void> {
  await submit(store, id);
  await endAs(store, id, outcome);
}

/** Leaves the rows as a gateway of version 1.0 does: its mark has no counts. */
async function writeMarkAsBefore(): Promise<void> {
  const storage = orderStorage(await memory.open());
  const { run, ms, n } = JSON.parse((await storage.get('meta/mark')) ?? '{}');
  await storage.apply(new Map([['meta/mark', JSON.stringify({ run: run + 1, ms, n })]]), new Set());
}

async function removeRows(prefix: string): Promise<void> {
  const storage = orderStorage(await memory.open());
  const rows = await storage.scan({ from: `${prefix}/`, to: `${prefix}0` }, 1_000);
  await storage.apply(new Map(), new Set(rows.map(([key]) => key)));
}

const listFailed = async (store: Store): Promise<readonly string[]> =>
  (await store.list('tasks', { outcome: 'failed' }, { limit: 9 })).items.map(({ request_id }) => request_id);

async function trimAll(store: Store): Promise<void> {
  while ((await store.trim(RETENTION, 500)) > 0);
}

describe('a store that a gateway of version 1.0 wrote', () => {
  test('has its open tasks counted and listed; its counts are not exact until the older settled ones are gone', async () => {
    const older = await open();
    await register(older, 'A', { max_concurrent: 9 });
    for (const outcome of ['success', 'failed', 'no_agent'] as const)
      await end(older, `old-${outcome}`, outcome);
    await submit(older, 'pending');
    await submit(older, 'running');
    must(await assign(older, 'running', 'A'));
    await older.close();
    await writeMarkAsBefore();
    for (const prefix of ['by-outcome', 'activity']) await removeRows(prefix);

    const store = await open();
    const counts = { pending: 1, running: 1, waiting: 0, ended: fillOutcomes(), exact: false };
    expect(await store.readTaskCounts()).toEqual(counts);
    const { items } = await store.list('tasks', { open: true }, { limit: 9 });
    expect(items.map(({ request_id }) => request_id).sort()).toEqual(['pending', 'running']);
    expect((await store.readActivity())[0]).toMatchObject({ waiting: 0, running: 2 });
    expect(await listFailed(store)).toEqual([]);

    // In the same millisecond as the older ones.
    await end(store, 'new', 'failed');
    await end(store, 'running-too', 'success');
    const ended = fillOutcomes({ failed: 1, success: 1 });
    expect(await store.readTaskCounts()).toEqual({ ...counts, ended });
    await clock.advance(59_000);
    await end(store, 'later', 'timeout');
    await clock.advance(1_000);
    expect(await store.trim(RETENTION, 3)).toBe(3);
    const later = fillOutcomes({ failed: 1, success: 1, timeout: 1 });
    expect(await store.readTaskCounts()).toEqual({ ...counts, ended: later, exact: true });
    expect(await listFailed(store)).toEqual(['new']);
    await clock.advance(1);
    await trimAll(store);
    expect(await store.readTaskCounts()).toEqual({
      ...{ ...counts, exact: true },
      ended: fillOutcomes({ timeout: 1 }),
    });
  });

  test('counts from then on only what it counts itself, also after a restart before anything changes', async () => {
    const older = await open();
    await end(older, 'old', 'success');
    await older.close();
    await writeMarkAsBefore();
    await (await open()).close();
    const store = await open();
    expect(await store.readTaskCounts()).toMatchObject({ ended: fillOutcomes(), exact: false });
    await clock.advance(60_000);
    await trimAll(store);
    expect(await store.readTaskCounts()).toMatchObject({ ended: fillOutcomes(), exact: true });
  });

  test('and used in between: the counts begin again, and no task is listed that is gone', async () => {
    const first = await open();
    await end(first, 'gone', 'failed');
    await end(first, 'kept', 'failed');
    await first.close();
    // What version 1.0 removes of a task, and what it leaves.
    await removeRows('task/gone');
    await writeMarkAsBefore();
    const store = await open();
    expect(await store.readTaskCounts()).toMatchObject({ ended: fillOutcomes(), exact: false });
    expect(await listFailed(store)).toEqual([]);
  });
});

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
      exact: true,
    };
    const store = await open();
    expect(await store.readTaskCounts()).toEqual(expected);
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
    const storage = orderStorage(await memory.open());
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
