/**
 * Tasks that a process of the Redis engine, or another one beside it, has written a moment ago: what is
 * decided on them and what is shown of them.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { JsonText } from '../../server/domain/json-text.ts';
import { createWrittenTasks } from '../../server/engines/redis/reads/written-tasks.ts';
import { type Batch, type Store, StoreUnavailable } from '../../server/ports/store.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { createRedisSubject } from './redis-under-test.ts';
import {
  buildInput,
  buildState,
  finish,
  must,
  readState,
  type StoreUnderTest,
  submit,
  taskRef,
  writeTask,
} from './store-under-test.ts';

let redis: RedisProcess;
let subject: StoreUnderTest;
let store: Store;
let other: Store;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.dispose());
beforeEach(async () => {
  subject = await createRedisSubject(redis);
  store = await subject.open();
  other = await subject.open();
});
afterEach(() => subject.dispose());

/** Resolves when the first store has every message of the other so far: they come in their order. */
async function receiveMessages(): Promise<void> {
  const over = new AbortController();
  const topic = store.watch(taskRef('last'), over.signal)[Symbol.asyncIterator]();
  await topic.next();
  const notified = topic.next();
  await submit(other, 'last');
  await notified;
  over.abort();
}

/** Removes the keys of a task. Only a read can notice that. */
async function removeFromRedis(id: string): Promise<void> {
  const client = await createClient({ url: redis.url }).connect();
  await client.del(await client.keys(`*:task:${id}`));
  client.destroy();
}

function write(to: Store, revision: string, progress: number): Promise<unknown> {
  return to.commit(writeTask('t1', { value: buildState(to), revision }, buildState(to, { progress })));
}

describe('a task that this process wrote', () => {
  test('is decided on as it was written; a commit finds what another process changed', async () => {
    const first = await submit(store, 't1');
    expect((await store.getForCommit('t1'))?.revision).toBe(first);
    expect(await write(other, first, 40)).toMatchObject({ ok: true });
    // Whether the message of that has come or not, the commit finds out.
    expect(await write(store, first, 50)).toEqual({ ok: false, conflict: 'revision' });
    const read = await store.getForCommit('t1');
    expect(read?.value.progress).toBe(40);
    expect(await write(store, read?.revision ?? '', 60)).toMatchObject({ ok: true });
  });

  test('is shown as another process left it while it is open', async () => {
    const first = await submit(store, 't1');
    expect(await write(other, first, 40)).toMatchObject({ ok: true });
    expect((await readState(store, 't1')).value.progress).toBe(40);
  });

  test('is shown without a read for a second after it settled, and not while Redis is away', async () => {
    await finish(store, 't1');
    const settled = await readState(other, 't1');
    await removeFromRedis('t1');
    expect(await store.get('task', 't1')).toEqual(settled);
    await subject.advance(1_000);
    expect(await store.get('task', 't1')).toBeUndefined();
    await store.close();
    await expect(store.get('task', 't1')).rejects.toThrow(StoreUnavailable);
  });
});

describe('a task that another process wrote', () => {
  test('is decided on as its message says, without a read', async () => {
    await submit(other, 't1');
    const written = await readState(other, 't1');
    await removeFromRedis('t1');
    await receiveMessages();
    expect(await store.getForCommit('t1')).toEqual(written);
    expect(await store.get('task', 't1')).toBeUndefined();
  });

  test('takes the place of what this process wrote before', async () => {
    const first = await submit(store, 't1');
    await write(other, first, 40);
    await receiveMessages();
    const learnt = await store.getForCommit('t1');
    expect(learnt?.value.progress).toBe(40);
    expect(await write(store, learnt?.revision ?? '', 50)).toMatchObject({ ok: true });
    expect((await store.getForCommit('t1'))?.value.progress).toBe(50);
  });

  test('is read while it is open; once it settled it is shown for a second without a read', async () => {
    await finish(other, 't1');
    const settled = await readState(other, 't1');
    await removeFromRedis('t1');
    await receiveMessages();
    expect(await store.get('task', 't1')).toEqual(settled);
    await subject.advance(1_000);
    expect(await store.get('task', 't1')).toBeUndefined();
  });

  test('that is large is not in the message: a commit finds another revision', async () => {
    const first = await submit(store, 't1');
    const value = buildState(other, { error_info: 'x'.repeat(3_000) });
    must(await other.commit(writeTask('t1', await readState(other, 't1'), value)));
    await receiveMessages();
    expect((await store.getForCommit('t1'))?.revision).toBe(first);
    expect(await write(store, first, 50)).toEqual({ ok: false, conflict: 'revision' });
    expect((await store.getForCommit('t1'))?.value.error_info).toHaveLength(3_000);
  });
});

describe('what is kept of them', () => {
  const batch = (id: string): Batch => writeTask(id, 'absent', buildState({ nowMs: () => 0 } as Store));

  test('is the result of the last commit, and nothing while one is under way', () => {
    const tasks = createWrittenTasks(() => 0, true);
    tasks.begin(batch('a'), 100)({ ok: true, revision: 'r1' });
    expect(tasks.find('a')?.revision).toBe('r1');
    const note = tasks.begin(batch('a'), 100);
    expect(tasks.find('a')).toBeUndefined();
    note({ ok: false, conflict: 'revision' });
    expect(tasks.find('a')).toBeUndefined();
    tasks.begin(batch('a'), 100)({ ok: true, revision: 'r2' });
    tasks.forget();
    expect(tasks.find('a')).toBeUndefined();
  });

  test('is bounded: no large commit, and of many the last', () => {
    const tasks = createWrittenTasks(() => 0, true);
    tasks.begin(batch('large'), 100_000)({ ok: true, revision: 'r' });
    expect(tasks.find('large')).toBeUndefined();
    for (let n = 0; n < 1_000; n += 1) tasks.begin(batch(`t${n}`), 4_000)({ ok: true, revision: `r${n}` });
    expect(tasks.find('t499')).toBeUndefined();
    expect(tasks.find('t750')?.revision).toBe('r750');
    expect(tasks.find('t999')?.revision).toBe('r999');
  });

  test('of a commit with a large payload is its state', () => {
    const tasks = createWrittenTasks(() => 0, true);
    const { writes } = batch('a');
    const payload = new JsonText(`{"text":"${'x'.repeat(100_000)}"}`);
    const input = {
      kind: 'input',
      id: 'a',
      expect: 'absent',
      value: { ...buildInput('a'), payload },
    } as const;
    tasks.begin({ writes: [input, ...writes] }, 101_000)({ ok: true, revision: 'r' });
    expect(tasks.find('a')?.revision).toBe('r');
  });

  test('of another process is shown where its message is as durable as its commit', () => {
    const settled = { ...buildState({ nowMs: () => 0 } as Store), status: 'success', settledMs: 0 };
    const isShown = (isMessageDurable: boolean): boolean => {
      const tasks = createWrittenTasks(() => 0, isMessageDurable);
      tasks.learn('a', 'r', JSON.stringify(settled));
      expect(tasks.find('a')).toEqual({ value: settled, revision: 'r' });
      return tasks.findSettled('a') !== undefined;
    };
    expect([isShown(true), isShown(false)]).toEqual([true, false]);
  });
});

test('A task that is being written is not found as it was before, however long ago that was written.', () => {
  const written = createWrittenTasks(() => 0, true);
  const value = buildState(store, {});
  const commit = (id: string) => written.begin(writeTask(id, 'absent', value), 8_000);
  commit('t1')({ ok: true, revision: 'r1' });
  // Half of what is kept is dropped at once; this task is in the half that is kept.
  for (let n = 0; n < 125; n += 1) commit(`other-${n}`)({ ok: true, revision: 'r' });
  expect(written.find('t1')?.revision).toBe('r1');
  commit('t1');
  expect(written.find('t1')).toBeUndefined();
});
