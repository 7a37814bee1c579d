/** The groups of the SQLite engine: when they are written, and a disk that does not come back. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createNotifications } from '../../server/engines/notifications.ts';
import { openFileStore } from '../../server/engines/sqlite/open.ts';
import { createSqliteStore } from '../../server/engines/sqlite/store.ts';
import type { Clock } from '../../server/ports/clock.ts';
import type { Store } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { append, begin, readPieces, textOf } from './output-calls.ts';
import { createDisk, createTestFolder, keepInMemory } from './sqlite-under-test.ts';
import {
  assign,
  endingOf,
  follow,
  idsOf,
  must,
  readFeed,
  register,
  submit,
  until,
} from './store-under-test.ts';

const A = textOf('a');

let opened: Store[];
beforeEach(() => {
  opened = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
});

function open(clock: Clock, { disk = createDisk(), outputEveryMs = 0 } = {}): Store {
  const tables = keepInMemory()();
  const writer = disk.wrap(tables.writer);
  const store = createSqliteStore({ ...tables, writer }, { clock, log: SILENT, outputEveryMs });
  opened.push(store);
  return store;
}

describe('a group of output alone', () => {
  test('waits until 10 ms after the last write; what else joins it is written at once', async () => {
    const clock = createFakeClock();
    const store = open(clock, { outputEveryMs: 10 });
    await submit(store, 't1');
    await begin(store, 't1', 'w');
    const first = follow(append(store, 't1', 'w', 0, [A]));
    await clock.advance(9);
    expect(first.now()).toBe('waiting');
    const second = follow(append(store, 't1', 'w', 1, [A]));
    await clock.advance(1);
    await until('both are stored', () => first.now() === 'done' && second.now() === 'done');
    const third = follow(append(store, 't1', 'w', 2, [A]));
    await submit(store, 't2');
    expect(third.now()).toBe('done');
    await clock.advance(10);
    await append(store, 't1', 'w', 3, [A]);
    expect(await readPieces(store, 't1')).toHaveLength(4);
  });

  test('is written at the latest when the store is closed', async () => {
    const { path, remove } = createTestFolder();
    const store = await openFileStore(path, { clock: createClock(), log: SILENT });
    await submit(store, 't1');
    await begin(store, 't1', 'w');
    const appended = append(store, 't1', 'w', 0, [A]);
    await store.close();
    expect(await appended).toMatchObject({ ok: true, next: 1 });
    remove();
  });
});

test('no read is behind another while the reply of the writer is under way', async () => {
  const tables = keepInMemory()();
  const reply = Promise.withResolvers<void>();
  let isHeld = false;
  const apply: typeof tables.writer.apply = async (words) => {
    const made = await tables.writer.apply(words);
    if (isHeld) await reply.promise;
    return made;
  };
  const clock = createFakeClock();
  const store = createSqliteStore({ ...tables, writer: { ...tables.writer, apply } }, { clock, log: SILENT });
  opened.push(store);
  await register(store, 'A');
  await submit(store, 't1');
  must(await assign(store, 't1', 'A'));
  const ending = await endingOf(store, 't1');
  isHeld = true;
  const settled = follow(store.commit(ending));
  try {
    await until('it is in the tables', async () => (await store.findSlots('A', ['t1'])).size === 0);
    // A client that gets the event reads the task next.
    const feed = await readFeed(store, 's', null, 1);
    expect(idsOf(feed)).toEqual(['t1']);
    expect(settled.now()).toBe('waiting');
    const task = await store.get('task', 't1');
    expect(task?.value.status).toBe('success');
    expect((await store.readOutput('t1', 0, 9)).revision).toBe(task?.revision);
    expect((await store.getAgentStatus('A'))?.slots).toBe(0);
    reply.resolve();
    await until('it is settled', () => settled.now() === 'done');
    expect(await store.get('task', 't1')).toEqual(task);
  } finally {
    // If not, the store could not be closed.
    reply.resolve();
  }
});

/** A clock whose sleepers all wake too late after the process was stopped. */
function createStoppingClock(): Clock & { stopProcess(ms: number): void } {
  let now = 0;
  const sleepers = new Set<() => void>();
  return {
    monotonicMs: () => now,
    sleep: (_ms, signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          sleepers.delete(wake);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        if (signal?.aborted) resolve();
        else {
          sleepers.add(wake);
          signal?.addEventListener('abort', wake);
        }
      }),
    stopProcess(ms) {
      now += ms;
      for (const wake of [...sleepers]) wake();
    },
  };
}

test('the time in which a process was stopped does not count against its disk', async () => {
  const clock = createStoppingClock();
  const disk = createDisk();
  const store = open(clock, { disk });
  disk.hold();
  const committed = submit(store, 't1');
  await until('the write is held', disk.isHolding);
  clock.stopProcess(20_000);
  for (let ticks = 0; ticks < 20; ticks += 1) await yieldToEventLoop();
  expect(store.health()).toEqual({ ok: true });
  disk.release();
  await committed;
});

test('a store closes even while its disk is stuck', async () => {
  const clock = createFakeClock();
  const disk = createDisk();
  const store = open(clock, { disk });
  disk.hold();
  const stuck = follow(submit(store, 't1'));
  await until('the write is held', disk.isHolding);
  const closing = follow(store.close());
  await until(
    'the store is closed',
    () => closing.now() === 'done',
    () => clock.advance(500),
  );
  expect(stuck.now()).toBe('failed');
  disk.release();
});

test('closed listeners and watchers leave no topic and no timer behind', async () => {
  const notifications = createNotifications();
  for (let index = 0; index < 100; index += 1) {
    const stop = new AbortController();
    const listener = notifications.listen([`feed:s${index % 3}`], stop.signal);
    if (index % 2 === 0) stop.abort();
    else listener.close();
  }
  for (const session of ['s0', 's1', 's2']) expect(notifications.hasListener(`feed:${session}`)).toBe(false);

  const clock = createFakeClock();
  const store = open(clock);
  const stop = new AbortController();
  const watching = (async () => {
    for await (const _notification of store.watch('due', stop.signal));
  })();
  must(await store.commit({ writes: [], due: [{ ref: 'agent:A', atMs: store.nowMs() + 60_000 }] }));
  await until('the due timer sleeps', () => clock.sleeping() > 0);
  stop.abort();
  await watching;
  // The watch over the time of the write ends with the time that it may take.
  await clock.advance(4_500);
  await until('the due timer has stopped', () => clock.sleeping() === 0);
});
