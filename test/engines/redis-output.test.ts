/**
 * Output on Redis: how the processes that share a store hear of it, and what a nearly full Redis takes.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StoreRefused } from '../../server/ports/store.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { append, begin, changeOutput, readPieces, textOf } from './output-calls.ts';
import { createRedisSubject } from './redis-under-test.ts';
import { must, settle, submit, until } from './store-under-test.ts';

const A = textOf('a');

let redis: RedisProcess;
let client: ReturnType<typeof createClient>;
beforeAll(async () => {
  redis = await startRedis(['--appendonly', 'no']);
  client = createClient({ url: redis.url });
  await client.connect();
});
afterAll(async () => {
  client.destroy();
  await redis.dispose();
});

test('Commits of one script together stay within the limit of all output.', async () => {
  const underTest = await createRedisSubject(redis, 'memory');
  const store = await underTest.open();
  const ids = ['t1', 't2', 't3', 't4', 't5', 't6'];
  for (const id of ids) {
    await submit(store, id);
    await begin(store, id, 'w');
  }
  await store.trim({ keepTasksMs: 1e9, sessionEventsMax: 1_000, outputBytesMax: 3_500 }, 500);
  const piece = textOf('x'.repeat(900));
  const results = await Promise.all(ids.map((id) => append(store, id, 'w', 0, [piece])));
  const taken = results.filter((result) => result.ok && !result.isFull);
  expect(taken).toHaveLength(3);
  await underTest.dispose();
});

describe('the processes that share a store', () => {
  test('each read what another has appended as soon as they are notified', async () => {
    const underTest = await createRedisSubject(redis, 'memory');
    const [writer, reader] = [await underTest.open(), await underTest.open()];
    const ending = new AbortController();
    const found: string[] = [];
    await submit(writer, 't1');
    await begin(writer, 't1', 'w');
    const reading = (async () => {
      for await (const _ of reader.watch('output:t1', ending.signal))
        found.push(...(await readPieces(reader, 't1', found.length)));
    })();
    for (let from = 0; from < 20; from += 1) await append(writer, 't1', 'w', from, [A]);
    await until('the reader has all', () => found.length === 20);
    expect(await append(reader, 't1', 'w', 20, [A])).toMatchObject({ ok: true, next: 21 });
    ending.abort();
    await reading;
    await underTest.dispose();
  });

  test('hear one topic of an append, and of a commit what they heard before there was output', async () => {
    const underTest = await createRedisSubject(redis, 'memory');
    const [store] = [await underTest.open(), await underTest.open()];
    const messages: string[] = [];
    const listener = await client.duplicate().connect();
    await listener.pSubscribe('*hints', (message) => void messages.push(message));
    await submit(store, 't1');
    await begin(store, 't1', 'w', [A]);
    await append(store, 't1', 'w', 1, [A]);
    await settle(store, 't1');
    await until('all have come', () => messages.length === 4);
    const topics = messages.map((message) => JSON.parse(message.slice(message.indexOf('['))) as unknown[]);
    expect(topics.map((some) => some.filter((topic) => typeof topic === 'string'))).toEqual([
      ['task:t1'],
      ['task:t1'],
      ['output:t1'],
      ['task:t1', 'feed:s'],
    ]);
    listener.destroy();
    await underTest.dispose();
  });
});

test('a Redis that is nearly full takes no output of an agent, takes answers, and removes it', async () => {
  const underTest = await createRedisSubject(redis, 'memory');
  const store = await underTest.open();
  await submit(store, 't1');
  await begin(store, 't1', 'w', [A]);
  const usedBytes = Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
  await client.configSet('maxmemory', String(Math.round(usedBytes / 0.95)));
  await underTest.advance(1_000);
  await store.takeDue(1);
  await expect(append(store, 't1', 'w', 1, [A])).rejects.toThrow(StoreRefused);
  const by = { writer: 'w', from: 1 };
  await expect(changeOutput(store, 't1', { append: { pieces: [A], by } })).rejects.toThrow(StoreRefused);
  const question = { append: { pieces: [A], by, isNeeded: true } };
  await expect(changeOutput(store, 't1', question)).rejects.toThrow(StoreRefused);
  must(await changeOutput(store, 't1', { append: { pieces: [A] } }));
  expect(await readPieces(store, 't1')).toHaveLength(2);
  await settle(store, 't1');
  await store.trim({ keepTasksMs: 1e9, sessionEventsMax: 9, outputBytesMax: 1 }, 500);
  expect((await store.readOutput('t1', 0, 9)).missing).toBe('removed');
  await client.configSet('maxmemory', '0');
  await underTest.dispose();
});
