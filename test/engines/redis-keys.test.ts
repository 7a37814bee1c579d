/**
 * Retention on Redis: every key that the engine writes is removed when it is no longer needed.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REDIS_COMMANDS, type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { createRedisSubject } from './redis-under-test.ts';
import {
  assign,
  endingOf,
  finish,
  must,
  putAgent,
  readState,
  register,
  settle,
  submit,
  writeTask,
} from './store-under-test.ts';

const DAY_MS = 24 * 3_600_000;
const RETENTION = { keepTasksMs: DAY_MS, sessionEventsMax: 5, outputBytesMax: 2 ** 28 };

describe.each(REDIS_COMMANDS)('on %s', (command) => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await startRedis(['--appendonly', 'no'], command);
  });
  afterAll(() => redis.dispose());

  test('no key is left of a thousand tasks, their agents, sessions and idempotency keys after their retention', async () => {
    const subject = await createRedisSubject(redis, 'memory');
    const store = await subject.open();
    for (let n = 0; n < 20; n += 1) await register(store, `A${n}`, { agent_tags: ['a', `tag-${n}`] });
    for (let n = 0; n < 250; n += 1) {
      const agent_id = `A${n % 20}`;
      const session = `session-${n % 30}`;
      await submit(store, `done-${n}`, { cli_session_id: session });
      must(await assign(store, `done-${n}`, agent_id));
      await store.touch(agent_id, { by: 'push', taken: true, status: 202, error: null });
      must(await store.commit(await endingOf(store, `done-${n}`, { unreported: agent_id })));
      await finish(store, `quick-${n}`, session);
      await submit(store, `waits-${n}`, { task_tags: ['z', `z-${n}`] });
      const before = await readState(store, `waits-${n}`);
      must(await store.commit(writeTask(`waits-${n}`, before, { ...before.value, waiting: true })));
      await settle(store, `waits-${n}`);
      const value = { request_id: `done-${n}`, fingerprint: 'f', create_time: 1 };
      must(
        await store.commit({
          writes: [{ kind: 'key', id: `key-${n}`, expect: 'absent', value, keepMs: DAY_MS }],
        }),
      );
    }
    await store.takeDue(100);
    for (let n = 0; n < 20; n += 1) {
      must(await putAgent(store, `A${n}`, null, { due: [{ ref: `agent:A${n}`, atMs: null }] }));
    }
    for (let day = 0; day < 2; day += 1) {
      await subject.advance(DAY_MS);
      while ((await store.trim(RETENTION, 500)) > 0);
    }
    const client = await createClient({ url: redis.url }).connect();
    const figures = [...(await client.keys('*:activity:*')), ...(await client.keys('*:no-agent:*'))];
    expect(figures).not.toEqual([]);
    for (const key of figures) expect(await client.pTTL(key), key).toBeGreaterThan(0);
    const keys = (await client.keys('*')).filter((key) => !figures.includes(key));
    client.destroy();
    // Removed agents stay in `gone` for readers of changes, up to `STORE_LIMITS.removedAgentsMax`.
    expect(keys.map((key) => key.slice(key.indexOf(':') + 1)).sort()).toEqual([
      'epoch',
      'format',
      'gone',
      'meta',
    ]);
    await subject.dispose();
  });
});
