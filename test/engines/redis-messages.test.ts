/**
 * The messages by which processes on one Redis notify each other: sent where another process listens,
 * and not missing where Redis permits less.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import { connectPrimary } from '../../server/engines/redis/client/client.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import type { Store } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { buildState, must, readState, submit, taskRef, writeTask } from './store-under-test.ts';

describe('a commit', () => {
  let redis: RedisProcess;
  let raw: ReturnType<typeof createClient>;
  beforeAll(async () => {
    redis = await startRedis(['--appendonly', 'no']);
    raw = createClient({ url: redis.url });
    await raw.connect();
  });
  afterAll(async () => {
    raw.destroy();
    await redis.dispose();
  });

  async function open(prefix: string, credentials = ''): Promise<Store> {
    const address = parseRedisAddress(`redis://${credentials}127.0.0.1:${redis.port}`);
    if ('mistake' in address) throw new Error(address.mistake);
    return await openRedisStore({
      address,
      durability: 'memory',
      clock: createClock(),
      log: SILENT,
      prefix,
    });
  }

  async function countMessages(): Promise<number> {
    const calls = /^cmdstat_publish:calls=(\d+)/m.exec(await raw.info('commandstats'))?.[1];
    return Number(calls ?? 0);
  }

  /** Submits a task in one store; resolves when the other was notified of it. */
  async function notify(from: Store, to: Store, id: string): Promise<void> {
    const over = new AbortController();
    const topic = to.watch(taskRef(id), over.signal)[Symbol.asyncIterator]();
    await topic.next();
    const notified = topic.next();
    await submit(from, id);
    expect((await notified).done).toBe(false);
    over.abort();
  }

  test('of the only process is not published, and is heard there', async () => {
    const store = await open('{only}:');
    const before = await countMessages();
    await notify(store, store, 't1');
    expect(await countMessages()).toBe(before);
    await store.close();
  });

  test('of one of two processes is published once, and heard by both', async () => {
    const [one, other] = [await open('{two}:'), await open('{two}:')];
    const before = await countMessages();
    await notify(one, other, 't1');
    await notify(one, one, 't2');
    expect(await countMessages()).toBe(before + 2);
    await one.close();
    await notify(other, other, 't3');
    expect(await countMessages()).toBe(before + 2);
    await other.close();
  });

  test('says what changed, and a message from elsewhere is heard', async () => {
    const store = await open('{said}:');
    const heard = Promise.withResolvers<string>();
    const listener = createClient({ url: redis.url });
    await listener.connect();
    await listener.subscribe('{said}:hints', (message) => heard.resolve(message));
    await submit(store, 't1');
    const [, changed = ''] = /^\d+ \S+ (.*)$/.exec(await heard.promise) ?? [];
    const { value, revision } = await readState(store, 't1');
    expect(JSON.parse(changed)).toEqual(['task:t1', ['t1', revision, JSON.stringify(value)]]);
    const over = new AbortController();
    const topic = store.watch(taskRef('t2'), over.signal)[Symbol.asyncIterator]();
    await topic.next();
    const notified = topic.next();
    await raw.publish('{said}:hints', ' another ["task:t2"]');
    expect((await notified).done).toBe(false);
    over.abort();
    listener.destroy();
    await store.close();
  });

  test.each([1, 2])('has the states that it wrote, the small ones (of %d tasks)', async (tasks) => {
    const store = await open(`{states-${tasks}}:`);
    const messages: string[] = [];
    const heard = Promise.withResolvers<void>();
    const listener = createClient({ url: redis.url });
    await listener.connect();
    await listener.subscribe(`{states-${tasks}}:hints`, (message) => {
      messages.push(message);
      if (message.includes('task:last')) heard.resolve();
    });
    const write = async (id: string, error_info: string): Promise<void> => {
      const value = buildState(store, { error_info });
      const ids = [id, `${id}-2`].slice(0, tasks);
      must(await store.commit({ writes: ids.flatMap((each) => writeTask(each, 'absent', value).writes) }));
    };
    await write('large', 'é'.repeat(1_000));
    await Promise.all(Array.from({ length: 80 }, (_, n) => write(`t${n}`, '/"\\\u0001é'.repeat(100))));
    await write('last', 'short');
    await heard.promise;
    const states = messages.flatMap((message) =>
      (JSON.parse(/^\d* \S+ (.*)$/.exec(message)?.[1] ?? '[]') as readonly unknown[]).filter(Array.isArray),
    );
    expect(states.map(([id]) => id)).not.toContain('large');
    expect(states.at(-1)?.[0]).toBe(tasks === 1 ? 'last' : 'last-2');
    for (const [id, revision, text] of states) {
      expect({ value: JSON.parse(text), revision }).toEqual(await readState(store, id));
    }
    // Many in one message have at most 64 KiB.
    for (const message of messages) expect(message.length).toBeLessThan(100_000);
    listener.destroy();
    await store.close();
  });

  test('is not waited for on a connection that was closed before it listened', async () => {
    const address = parseRedisAddress(redis.url);
    if ('mistake' in address) throw new Error(address.mistake);
    const signal = new AbortController().signal;
    const client = await connectPrimary(address, { use: 'notifications', onGone: () => undefined, signal });
    client.destroy();
    await expect(client.subscribe('{closed}:hints', () => undefined)).rejects.toThrow('was closed');
  });

  test('of a user who may neither count listeners nor listen to other channels is heard by others', async () => {
    const rules = ['on', '>secret', '~*', '+@all', '-pubsub', 'resetchannels', '&{acl}:hints'];
    await raw.sendCommand(['ACL', 'SETUSER', 'narrow', ...rules]);
    const [one, other] = [await open('{acl}:', 'narrow:secret@'), await open('{acl}:')];
    await notify(one, other, 't1');
    await notify(other, one, 't2');
    await one.close();
    await other.close();
  });
});
