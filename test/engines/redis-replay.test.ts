/**
 * What a long replay asks of Redis: its tasks are read together, not each by itself.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeJson } from '../../server/domain/json-text.ts';
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import type { TaskDone } from '../../server/ports/gateway.ts';
import type { Store } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { createWorld } from '../harness/world.ts';
import { endingOf, finish, must, submit } from './store-under-test.ts';

const EVENTS = 250;
/** Ends with a result that no reader keeps while it waits. */
const LONG = 7;

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

async function open(): Promise<Store> {
  const address = parseRedisAddress(redis.url);
  if ('mistake' in address) throw new Error(address.mistake);
  return await openRedisStore({ address, durability: 'memory', clock: createClock(), log: SILENT });
}

async function countScripts(): Promise<number> {
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await raw.info('commandstats'))?.[1] ?? 0);
}

/** A task that ends with a result of this many characters. */
async function finishLong(store: Store, id: string, chars: number): Promise<void> {
  await submit(store, id);
  const { writes, ...ending } = await endingOf(store, id);
  const longer = writes.map((write) =>
    write.kind === 'task' && write.value
      ? { ...write, value: { ...write.value, result: { output: 'x'.repeat(chars) } } }
      : write,
  );
  must(await store.commit({ ...ending, writes: longer }));
}

test('A replay of 250 events takes a script of Redis for twenty of them, and has each as it was stored.', async () => {
  const before = await open();
  const ids = Array.from({ length: EVENTS }, (_, n) => `t${n}`);
  for (const [n, id] of ids.entries())
    await (n === LONG ? finishLong(before, id, 5_000) : finish(before, id));
  await before.close();
  // Of what was written before it was opened this one knows nothing.
  const store = await open();
  const { gateway } = createWorld(store, { clock: createFakeClock() });
  const leave = new AbortController();
  const scripts = await countScripts();
  const events: TaskDone[] = [];
  for await (const item of gateway.subscribeEvents('s', null, (one) => one, leave.signal)) {
    if (!item.gap) events.push(item.event);
    if (events.length === EVENTS) leave.abort();
  }
  const last = EVENTS % 100;
  expect((await countScripts()) - scripts).toBeLessThan(EVENTS / 20 + last + 10);
  expect(events.map(({ request_id }) => request_id)).toEqual(ids);
  expect(writeJson(events[LONG]?.result ?? {})).toBe(JSON.stringify({ output: 'x'.repeat(5_000) }));
  await store.close();
});
