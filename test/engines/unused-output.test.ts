/**
 * A task that uses no output costs what it did before there was any: the calls of Redis and their bytes. The
 * numbers are those of the last version without output, less the empty `reply` that a state had then.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { expect, test } from 'vitest';
import type { Store } from '../../server/ports/store.ts';
import { startRedis } from '../harness/redis-process.ts';
import { createRedisSubject } from './redis-under-test.ts';
import { assign, must, readState, register, settle, submit, writeTask } from './store-under-test.ts';

/** A task's life: submitted, assigned, progress, settled, read. */
async function runTask(store: Store, id: string): Promise<void> {
  await submit(store, id);
  must(await assign(store, id, 'A'));
  const running = await readState(store, id);
  must(await store.commit(writeTask(id, running, { ...running.value, progress: 50 })));
  await settle(store, id);
  await store.get('task', id);
}

test('its calls of Redis, what they send and what is published', async () => {
  const redis = await startRedis(['--appendonly', 'no']);
  const underTest = await createRedisSubject(redis, 'memory');
  const store = await underTest.open();
  const other = await underTest.open();
  const client = await createClient({ url: redis.url }).connect();
  try {
    await register(store, 'A');
    await runTask(store, 't0');
    await client.configResetStat();
    await runTask(store, 't1');
    const [commands, bytes] = await readStatistics(client);
    expect(commands).toBe(
      'evalsha=7 exists=1 get=7 hdel=2 hincrby=1 hmget=12 hset=8 hstrlen=3 lpush=1 ltrim=1 ' +
        'ping=14 publish=4 pubsub|numsub=4 sadd=2 srem=1 time=7 xadd=1 zadd=10 zcard=2 zrem=4 ' +
        'zscore=2',
    );
    expect(bytes).toEqual({ in: 3_855, out: 5_972 });
  } finally {
    client.destroy();
    await other.close();
    await underTest.dispose();
    await redis.dispose();
  }
});

/** How often each command was called since the reset, and the bytes that came and went. */
async function readStatistics(client: { info(section: string): Promise<string> }) {
  const stats = await client.info('stats');
  const commands = await client.info('commandstats');
  const calls = [...commands.matchAll(/cmdstat_(\S+?):calls=(\d+)/g)]
    .filter(([, name = '']) => !name.startsWith('config') && name !== 'info')
    .map(([, name, count]) => `${name}=${count}`);
  const bytesOf = (direction: string): number =>
    Number(new RegExp(`total_net_${direction}_bytes:(\\d+)`).exec(stats)?.[1]);
  return [calls.sort().join(' '), { in: bytesOf('input'), out: bytesOf('output') }] as const;
}
