/**
 * What is counted of the tasks on Redis: shared by replicas, and beside gateways of version 1.0, which count
 * nothing: before this one, in between, and at the same time.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { OUTCOMES } from '../../server/domain/history-record.ts';
import { fillOutcomes } from '../../server/domain/task-counts.ts';
import type { Store } from '../../server/ports/store.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { endAs } from './counting.suite.ts';
import { createRedisSubject } from './redis-under-test.ts';
import {
  assign,
  must,
  readState,
  register,
  type StoreUnderTest,
  submit,
  writeTask,
} from './store-under-test.ts';

const RETENTION = { keepTasksMs: 60_000, sessionEventsMax: 1_000 };

describe('on Redis', () => {
  let redis: RedisProcess;
  let client: ReturnType<typeof createClient>;
  let underTest: StoreUnderTest;
  let store: Store;
  beforeAll(async () => {
    redis = await startRedis(['--appendonly', 'no']);
    client = createClient({ url: redis.url });
    await client.connect();
  });
  afterAll(async () => {
    client.destroy();
    await redis.dispose();
  });
  beforeEach(async () => {
    await client.flushAll();
    underTest = await createRedisSubject(redis, 'memory');
    store = await underTest.open();
    await register(store, 'A', { max_concurrent: 300 });
  });
  afterEach(() => underTest.dispose());

  async function nameKey(name: string): Promise<string> {
    const [epoch = ''] = await client.keys('*:epoch');
    return epoch.replace(/epoch$/, name);
  }

  /** Removes what version 1.0 does not write. */
  async function forgetCounts(): Promise<void> {
    const open = ['pending-tasks', 'running-tasks', 'waiting-tasks', 'waiting-tags'];
    const counted = [...open, ...OUTCOMES.map((outcome) => `by-outcome:${outcome}`)];
    for (const name of counted) await client.del(await nameKey(name));
    await client.hDel(await nameKey('meta'), ['succeeded', 'step']);
    for (const key of await client.keys('*:activity:*')) await client.del(key);
  }

  /** What version 1.0 writes when a task settles. */
  async function settleAsBefore(id: string): Promise<void> {
    await client.hSet(await nameKey(`task:${id}`), 'o', '0');
    await client.hIncrBy(await nameKey('meta'), 'open', -1);
    await client.zAdd(await nameKey('ended'), { score: store.nowMs(), value: id });
  }

  async function startRunning(id: string): Promise<void> {
    await submit(store, id);
    must(await assign(store, id, 'A'));
  }

  test('replicas have the same counts and the same activity, of what each of them did', async () => {
    const other = await underTest.open();
    await startRunning('t1');
    await submit(other, 't2');
    must(await assign(other, 't2', 'A'));
    await endAs(other, 't1', 'cancelled');
    await endAs(store, 't2', 'success');
    await submit(other, 't3');
    const counts = await store.readTaskCounts();
    const ended = fillOutcomes({ cancelled: 1, success: 1 });
    expect(counts).toEqual({ pending: 1, running: 0, waiting: 0, ended, exact: true });
    expect(await other.readTaskCounts()).toEqual(counts);
    const activity = await store.readActivity();
    expect(activity.at(-1)?.ended).toEqual(ended);
    expect(await other.readActivity()).toEqual(activity);
  });

  test('a store of version 1.0 has its open tasks counted; its counts are exact once the older settled ones are gone', async () => {
    await submit(store, 'old');
    await settleAsBefore('old');
    await Promise.all(Array.from({ length: 700 }, (_, n) => submit(store, `p${n}`)));
    await startRunning('r1');
    const { value } = await readState(store, 'p1');
    const wait = { op: 'join', request_id: 'p1', tags: ['x'], sinceMs: value.createdMs } as const;
    must(await store.commit(writeTask('p1', 'any', { ...value, waiting: true }, { wait })));
    await forgetCounts();
    const later = await underTest.open();
    const counts = { pending: 700, running: 1, waiting: 1, ended: fillOutcomes(), exact: false };
    expect(await later.readTaskCounts()).toEqual(counts);
    expect((await later.list('tasks', { open: true }, { limit: 1_000 })).items).toHaveLength(701);
    expect((await later.list('tasks', { open: 'waiting' }, { limit: 9 })).items).toHaveLength(1);
    await endAs(later, 'r1', 'success');
    expect(await later.readTaskCounts()).toMatchObject({ ended: fillOutcomes({ success: 1 }), exact: false });
    await underTest.advance(59_000);
    await endAs(later, 'p0', 'failed');
    await underTest.advance(1_000);
    while ((await later.trim(RETENTION, 500)) > 0);
    const ended = fillOutcomes({ failed: 1 });
    expect(await later.readTaskCounts()).toEqual({
      pending: 699,
      running: 0,
      waiting: 1,
      ended,
      exact: true,
    });
  });

  test('what version 1.0 did in between is listed right after the next start, also where the sums agree', async () => {
    for (const id of ['kept', 'over']) await startRunning(id);
    await settleAsBefore('over');
    await submit(store, 'added');
    await client.del(await nameKey('pending-tasks'));
    const later = await underTest.open();
    const listed = async (open: 'pending' | 'running'): Promise<readonly string[]> =>
      (await later.list('tasks', { open }, { limit: 9 })).items.map(({ request_id }) => request_id);
    expect(await listed('pending')).toEqual(['added']);
    expect(await listed('running')).toEqual(['kept']);
    expect(await later.readTaskCounts()).toMatchObject({ pending: 1, running: 1, exact: false });
  });

  test('what a replica of version 1.0 settles and removes meanwhile is found out and no longer counted', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, n) => startRunning(`t${n}`)));
    await endAs(store, 't0', 'failed');
    await endAs(store, 't1', 'success');
    for (let n = 2; n < 240; n += 1) await settleAsBefore(`t${n}`);
    // It removes the two that it did not settle.
    for (const id of ['t0', 't1']) {
      await client.del(await nameKey(`task:${id}`));
      await client.zRem(await nameKey('ended'), id);
    }
    const first = await store.readTaskCounts();
    expect(first).toMatchObject({ pending: 0, running: 10, exact: false });
    for (let n = 0; n < 10; n += 1) await store.readTaskCounts();
    expect(await client.zCard(await nameKey('running-tasks'))).toBe(10);
    for (let n = 2; n < 240; n += 1) await client.del(await nameKey(`task:t${n}`));
    await client.del(await nameKey('ended'));
    for (let n = 0; n < 3; n += 1) await store.readTaskCounts();
    expect(await store.readTaskCounts()).toEqual({
      ...{ pending: 0, running: 10, waiting: 0 },
      ...{ ended: fillOutcomes(), exact: true },
    });
  });
});
