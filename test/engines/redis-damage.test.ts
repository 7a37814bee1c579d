/**
 * A task that something else has damaged in Redis: an error of its own, which repeats nothing of its content.
 * @module-tag redis
 */
import { inspect } from 'node:util';
import { createClient } from '@redis/client';
import { expect, onTestFinished, test } from 'vitest';
import { toProblem } from '../../server/http/problems.ts';
import { StoreDamaged } from '../../server/ports/store.ts';
import { REDIS_COMMANDS, startRedis } from '../harness/redis-process.ts';
import { append, begin } from './output-calls.ts';
import { createRedisSubject } from './redis-under-test.ts';
import { must, readState, submit, writeTask } from './store-under-test.ts';

test.each(REDIS_COMMANDS)('on %s: its state, its input and its details', async (command) => {
  const redis = await startRedis(['--appendonly', 'no'], command);
  onTestFinished(() => redis.dispose());
  const subject = await createRedisSubject(redis, 'memory');
  const store = await subject.open();
  const client = await createClient({ url: redis.url }).connect();
  try {
    for (const id of ['t1', 't2']) {
      await submit(store, id);
      const before = await readState(store, id);
      const state = { ...before.value, hasReply: true } as const;
      must(await store.commit(writeTask(id, before, state, { details: { reply: 'a reply' } })));
    }
    const [key = ''] = await client.keys('*task:t1');
    for (const [field, kind] of [
      ['s', 'task'],
      ['i', 'input'],
      ['p', 'details'],
    ] as const) {
      await client.hSet(key, field, '{"status":"a private text');
      const error = await store.get(kind, 't1').catch((one: unknown) => one);
      expect(error).toBeInstanceOf(StoreDamaged);
      expect(String(error)).toMatch(/damaged.*t1/);
      expect(inspect(error)).not.toContain('private');
      // A reference of the log: no repeat makes it readable, and an operator must know.
      expect(toProblem(error)).toMatchObject({ code: 'internal' });
      expect((await store.get(kind, 't2'))?.value).toBeDefined();
    }
  } finally {
    client.destroy();
    await subject.dispose();
  }
});

test.each(REDIS_COMMANDS)('on %s: pieces of its output that are gone', async (command) => {
  const redis = await startRedis(['--appendonly', 'no'], command);
  onTestFinished(() => redis.dispose());
  const subject = await createRedisSubject(redis, 'memory');
  const store = await subject.open();
  const client = await createClient({ url: redis.url }).connect();
  try {
    await submit(store, 't1');
    await begin(store, 't1', 'w', ['"a"']);
    for (const from of [1, 2, 3]) await append(store, 't1', 'w', from, ['"b"']);
    const [key = ''] = await client.keys('*output:t1');
    const entries = (await client.xRange(key, '-', '+')) ?? [];
    await client.xDel(key, entries[1]?.id ?? '');
    const damaged = /damaged: it lacks output of t1/;
    await expect(store.readOutput('t1', 0, 10)).rejects.toThrow(damaged);
    expect((await store.readOutput('t1', 2, 10)).pieces.map(({ n }) => n)).toEqual([3, 4]);
    await client.xDel(key, entries[3]?.id ?? '');
    await expect(store.readOutput('t1', 3, 10)).rejects.toThrow(StoreDamaged);
  } finally {
    client.destroy();
    await subject.dispose();
  }
});
