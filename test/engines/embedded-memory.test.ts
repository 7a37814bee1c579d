/**
 * What the embedded engine keeps in memory and for how long, and how it closes and survives a stopped
 * process.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { yieldToEventLoop } from '../../server/async/waiting.ts';
import { openThreadedFile } from '../../server/engines/embedded/open.ts';
import { keepInMemory } from '../../server/engines/embedded/storage/memory-storage.ts';
import { openKeyv, type StorageAdapter } from '../../server/engines/embedded/storage/ordered-storage.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import { createNotifications } from '../../server/engines/notifications.ts';
import type { Clock } from '../../server/ports/clock.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { createDisk, createTestFolder, openNotingReads } from './embedded-under-test.ts';
import {
  agentRef,
  buildInput,
  endingOf,
  finish,
  follow,
  must,
  NEVER,
  putAgent,
  readFeed,
  readState,
  register,
  submit,
  taskRef,
  until,
  writeTask,
} from './store-under-test.ts';

let opened: Store[];
beforeEach(() => {
  opened = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
});

async function open(
  openStorage: Parameters<typeof createEmbeddedStore>[0]['openStorage'],
  clock: Clock = createFakeClock(),
) {
  const store = await createEmbeddedStore({ openStorage, clock, log: SILENT });
  opened.push(store);
  return store;
}

describe('values', () => {
  test('of open tasks are in memory from the start; inputs are read from the file, through Keyv', async () => {
    const testFolder = createTestFolder();
    const reads: string[] = [];
    const openStorage = () => openNotingReads(testFolder.path, reads);
    const first = await open(openStorage);
    await submit(first, 't1');
    await first.close();
    const second = await open(openStorage);
    reads.length = 0;
    expect(await second.get('task', 't1')).toBeDefined();
    expect(reads).toEqual([]);
    expect((await second.get('input', 't1'))?.value.request_id).toBe('t1');
    expect(reads).toEqual(['task/t1/input']);
    await second.close();
    testFolder.remove();
  });

  test('long details of an open task have a row of their own, which is written once and not read with the task', async () => {
    const openMemory = keepInMemory();
    const written: string[] = [];
    const openStorage = async () => {
      const keyv = await openMemory();
      const adapter = keyv.store as unknown as StorageAdapter;
      const apply: StorageAdapter['apply'] = async (sets, deletes) => {
        written.push(...[...sets].map(([key, text]) => `${key} ${text.length > 100_000}`), ...deletes);
        await adapter.apply(sets, deletes);
      };
      return openKeyv({ ...adapter, apply });
    };
    const first = await open(openStorage);
    await submit(first, 't1');
    const submitted = await readState(first, 't1');
    const state = { ...submitted.value, hasReply: true } as const;
    const reply = 'x'.repeat(200_000);
    const replied = must(await first.commit(writeTask('t1', submitted, state, { details: { reply } })));
    expect(written).toContain('details/t1 true');
    expect(written).toContain('open/t1 false');
    written.length = 0;
    const later = { ...state, progress: 50 };
    const revision = must(await first.commit(writeTask('t1', { value: state, revision: replied }, later)));
    expect(written).toEqual(['open/t1 false']);
    expect(await first.get('task', 't1')).toEqual({ value: later, revision });
    await first.close();
    const second = await open(openStorage);
    expect(await second.get('task', 't1')).toEqual({ value: later, revision });
    const earlier = { ref: taskRef('t1'), atMs: 1 };
    must(await second.commit({ writes: [], due: [earlier] }));
    expect(await second.get('task', 't1')).toEqual({ value: later, revision });
    expect((await second.get('details', 't1'))?.value).toEqual({ reply });
    const settled = {
      ...submitted.value,
      status: 'failed',
      settledMs: 1,
      history: [['failed', 1]],
    } as const;
    must(await second.commit(writeTask('t1', { value: later, revision }, settled, { details: null })));
    expect(written).toContain('details/t1');
    expect((await readState(second, 't1')).value).toEqual(settled);
  });

  test('that are not durable yet are never dropped from memory, however large they are', async () => {
    const disk = createDisk();
    const openMemory = keepInMemory();
    const store = await open(async () => disk.wrap(await openMemory()));
    const payload = { text: 'x'.repeat(3_000_000) };
    const putInput = (id: string) =>
      store.commit({
        writes: [{ kind: 'input', id, expect: 'absent', value: buildInput(id, { payload }) }],
      });
    disk.hold();
    const commits = ['t1', 't2', 't3', 't4', 't5'].map(putInput);
    await until('the write is held', disk.isHolding);
    const reading = store.get('input', 't1');
    const read = follow(reading);
    for (let ticks = 0; ticks < 20; ticks += 1) await yieldToEventLoop();
    expect(read.now()).toBe('waiting');
    disk.release();
    for (const result of await Promise.all(commits)) must(result);
    expect(JSON.stringify((await reading)?.value.payload)).toBe(JSON.stringify(payload));
    for (const id of ['t1', 't5']) expect((await store.get('input', id))?.value.request_id).toBe(id);
  });

  test('that were written long ago are read from the file as they were', async () => {
    const store = await open(keepInMemory());
    await finish(store, 'old');
    const before = await readState(store, 'old');
    const payload = { text: 'x'.repeat(3_000_000) };
    for (const id of ['t1', 't2', 't3', 't4']) {
      must(
        await store.commit({
          writes: [{ kind: 'input', id, expect: 'absent', value: buildInput(id, { payload }) }],
        }),
      );
    }
    expect(await readState(store, 'old')).toEqual(before);
    await finish(store, 'young');
    expect(await readFeed(store, 's', null, 2)).toMatchObject([
      { request_id: 'old' },
      { request_id: 'young' },
    ]);
  });
});

test('removed agents are remembered up to a limit; a reader further behind reads all agents again', async () => {
  const store = await open(keepInMemory());
  const { cursor } = await store.readAgentChanges(null);
  const AGENTS = 10_050;
  for (let index = 0; index < AGENTS; index += 1) await register(store, `A${index}`);
  const { cursor: full, changed } = await readAllChanges(store, cursor);
  expect(new Set(changed).size).toBe(AGENTS);
  // One reader has come through a part of all agents when the first of them are removed and forgotten.
  const { cursor: part, more } = await store.readAgentChanges(null);
  expect(more).toBe(true);
  for (let index = 0; index < AGENTS; index += 1) {
    must(await putAgent(store, `A${index}`, null));
  }
  expect(await store.readAgentChanges(full)).toMatchObject({ reset: true, changed: [] });
  expect(await store.readAgentChanges(part)).toMatchObject({ reset: true, changed: [] });
  await register(store, 'B');
  const { cursor: last } = await store.readAgentChanges(null);
  expect(await store.readAgentChanges(last)).toMatchObject({ reset: false, changed: [], removed: [] });
  for (let index = 0; index < AGENTS; index += 1) await register(store, `A${index}`);
  // What was forgotten before a reader began with all agents does not concern it.
  const pages = await readAllChanges(store, null);
  expect(new Set(pages.changed).size).toBe(AGENTS + 1);
  expect(pages.resets).toBe(1);
});

/** Reads on while there is more. */
async function readAllChanges(store: Store, after: string | null) {
  const changed: string[] = [];
  let resets = 0;
  for (let cursor = after; ; ) {
    const page = await store.readAgentChanges(cursor);
    changed.push(...page.changed.map(({ record }) => record.agent_id));
    resets += Number(page.reset);
    ({ cursor } = page);
    if (!page.more) return { changed, cursor, resets };
  }
}

test('after a restart an agent is due at once, whatever its due time was, while a task waits for its tags', async () => {
  const clock = createFakeClock();
  const openStorage = keepInMemory();
  const first = await open(openStorage, clock);
  await submit(first, 't1', { waiting: true });
  await register(first, 'A');
  const due = [{ ref: agentRef('A'), atMs: first.nowMs() + 600_000 }];
  must(await first.commit({ writes: [], due }));
  await first.close();
  const second = await open(openStorage, clock);
  await clock.advance(1);
  expect((await second.takeDue(10)).map(({ ref }) => ref)).toContain(agentRef('A'));
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
  const openMemory = keepInMemory();
  const store = await open(async () => disk.wrap(await openMemory()), clock);
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
  const openMemory = keepInMemory();
  const store = await open(async () => disk.wrap(await openMemory()), clock);
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
  const store = await open(keepInMemory(), clock);
  const stop = new AbortController();
  const watching = (async () => {
    for await (const _notification of store.watch('due', stop.signal));
  })();
  must(await store.commit({ writes: [], due: [{ ref: 'agent:A', atMs: store.nowMs() + 60_000 }] }));
  await until('the due timer sleeps', () => clock.sleeping() > 0);
  stop.abort();
  await watching;
  await until('the due timer has stopped', () => clock.sleeping() === 0);
});

test('the writer thread has ended when the store is closed, whatever was running', async () => {
  const testFolder = createTestFolder();
  for (let times = 0; times < 5; times += 1) {
    const store = await open(() => openThreadedFile(testFolder.path));
    await submit(store, `t${times}`);
    const ending = store.commit(await endingOf(store, `t${times}`));
    const reading = (async () => {
      for await (const _item of store.feed('s', null, NEVER));
    })();
    await Promise.all([ending, store.close(), reading]);
  }
  const store = await open(() => openThreadedFile(testFolder.path));
  expect((await store.list('tasks', {}, { limit: 10 })).items).toHaveLength(5);
  await store.close();
  testFolder.remove();
});
