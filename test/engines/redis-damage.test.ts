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
import { createRedisSubject } from './redis-under-test.ts';
import { must, readState, submit, writeTask } from './store-under-test.ts';

test.each(REDIS_COMMANDS)('on %s: its state, its input and its reply', async (command) => {
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
      must(await store.commit(writeTask(id, before, state, { reply: 'a reply' })));
    }
    const [key = ''] = await client.keys('*task:t1');
    for (const [field, kind] of [
      ['s', 'task'],
      ['i', 'input'],
      ['p', 'reply'],
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
