/**
 * One entry that something else has damaged in Redis: it hides and stops nothing else.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Retention, Store } from '../../server/ports/store.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { append, begin, textOf } from './output-calls.ts';
import { createRedisSubject } from './redis-under-test.ts';
import { assign, finish, must, register, type StoreUnderTest, settle, submit } from './store-under-test.ts';

const MIB = 2 ** 20;
const EXPIRY_INDEX = 'fade';
const KEEP_ALL: Retention = { keepTasksMs: 60_000, sessionEventsMax: 1_000, outputBytesMax: 16 * MIB };

let redis: RedisProcess;
let client: ReturnType<typeof createClient>;
let subject: StoreUnderTest;
let store: Store;
let logged: object[];
beforeAll(async () => {
  redis = await startRedis(['--appendonly', 'no']);
  client = createClient({ url: redis.url });
  await client.connect();
});
beforeEach(async () => {
  await client.flushAll();
  logged = [];
  subject = await createRedisSubject(redis, 'memory', { ...SILENT, error: (what) => logged.push(what) });
  store = await subject.open();
});
afterEach(() => subject.dispose());
afterAll(async () => {
  client.destroy();
  await redis.dispose();
});

/** The whole name of the one key that ends so. */
async function keyOf(ending: string): Promise<string> {
  const keys = await client.keys(`*${ending}`);
  expect(keys).toHaveLength(1);
  return keys[0] ?? '';
}

/** An ended task with two pieces. */
async function endWithOutput(id: string): Promise<void> {
  await submit(store, id);
  await begin(store, id, 'w', [textOf('a'), textOf('b')]);
  await settle(store, id);
}

test.each<[string, (key: string) => Promise<unknown>]>([
  ['without its task', (key) => client.del(key)],
  ['of a task that says nothing of it', (key) => client.hDel(key, 'w')],
  ['of a task that says nonsense of it', (key) => client.hSet(key, 'w', 'x')],
])('ended output %s: that of the others still goes, and writes go on', async (_which, damage) => {
  await endWithOutput('t1');
  await endWithOutput('t2');
  await submit(store, 't3');
  await damage(await keyOf('task:t1'));
  const full = { ...KEEP_ALL, outputBytesMax: 16 };
  expect(await store.trim(full, 10)).toBe(2);
  expect(await client.keys('*output:t*')).toEqual([]);
  expect(await client.keys('*task:t1')).toHaveLength(_which === 'without its task' ? 0 : 1);
  expect(await store.trim(KEEP_ALL, 10)).toBe(0);
  await begin(store, 't3', 'w', [textOf('a')]);
  expect(await append(store, 't3', 'w', 1, [textOf('b')])).toMatchObject({ ok: true, next: 2, last: 2 });
});

test('the output of an open task that says nonsense of it: a write of another in the same moment is stored', async () => {
  for (const id of ['t1', 't2']) {
    await submit(store, id);
    await begin(store, id, 'w', [textOf('a')]);
  }
  await client.hSet(await keyOf('task:t1'), 'w', 'x');
  const [first, second] = await Promise.allSettled([
    append(store, 't1', 'w', 1, [textOf('b')]),
    append(store, 't2', 'w', 1, [textOf('b')]),
  ]);
  expect(first).toMatchObject({
    status: 'rejected',
    reason: { message: expect.stringContaining('damaged') },
  });
  expect(second).toMatchObject({ status: 'fulfilled', value: { ok: true, next: 2 } });
});

test.each([0, -1])(
  'an ended task that is no JSON, at %i of the last: the others are read, and all go',
  async (at) => {
    for (const id of ['t1', 't2', 't3']) await finish(store, id);
    await client.lSet(await keyOf('last-ended'), at, 'x');
    expect((await store.readEnded()).map(({ request_id }) => request_id)).toHaveLength(2);
    await subject.advance(61_000);
    expect(await store.trim(KEEP_ALL, 100)).toBeGreaterThan(0);
    expect(await store.trim(KEEP_ALL, 100)).toBe(0);
    expect(await store.readEnded()).toEqual([]);
  },
);

test('agents of an ended task that are no JSON: it goes with the others', async () => {
  for (const id of ['t1', 't2']) await finish(store, id);
  await client.hSet(await keyOf('task:t1'), 'a', 'x');
  await subject.advance(61_000);
  await store.trim(KEEP_ALL, 100);
  expect(await client.keys('*task:t*')).toEqual([]);
});

test('an entry of the expiry index that names nothing: it goes, and what expires behind it', async () => {
  const expiring = `${(await keyOf(':epoch')).replace(/epoch$/, '')}${EXPIRY_INDEX}`;
  await client.zAdd(expiring, [
    { score: 1, value: 'u:' },
    { score: 2, value: 'k:other' },
  ]);
  expect(await store.trim(KEEP_ALL, 100)).toBe(2);
  expect(await client.keys(`*:${EXPIRY_INDEX}`)).toEqual([]);
});

test('tags of an agent that are no JSON: they are named, it registers again, and others get their tasks', async () => {
  await register(store, 'A');
  await register(store, 'B');
  await submit(store, 't1');
  await client.hSet(await keyOf('agent:A'), 'tags', 'x');
  const [, granted] = await Promise.all([
    register(store, 'A', { registration: 'next' }),
    assign(store, 't1', 'B'),
  ]);
  must(granted);
  expect((await store.getAgentStatus('B'))?.slots).toBe(1);
  expect(logged).toEqual([{ entry: 'the tags of agent:A' }]);
});
