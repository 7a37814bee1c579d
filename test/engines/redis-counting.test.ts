/**
 * What is counted of the tasks on Redis is shared by replicas.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fillOutcomes } from '../../server/domain/task-counts.ts';
import type { Store } from '../../server/ports/store.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { endAs } from './counting.suite.ts';
import { createRedisSubject } from './redis-under-test.ts';
import { assign, must, register, type StoreUnderTest, submit } from './store-under-test.ts';

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
    const counts = await store.readCounts(0);
    const ended = fillOutcomes({ cancelled: 1, success: 1 });
    expect(counts).toMatchObject({ pending: 1, running: 0, waiting: 0, ended });
    expect(await other.readCounts(0)).toEqual(counts);
    const activity = await store.readActivity();
    expect(activity.at(-1)?.ended).toEqual(ended);
    expect(await other.readActivity()).toEqual(activity);
  });
});
