/**
 * Replicas whose own clocks differ use that of Redis: they agree on the time, and on what is due. One whose
 * monotonic clock stood still takes the time of the others.
 * @module-tag redis
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parseRedisAddress } from '../../server/engines/redis/client/address.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import type { Clock } from '../../server/ports/clock.ts';
import type { Store } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { type SteppedRedis, startSteppedRedis } from '../harness/stepped-redis.ts';
import { agentRef, must, register, until } from './store-under-test.ts';

const APART_MS = 5_000;
/** How wrong the wall clock of this process is: a time that is taken from it is far from that of Redis. */
const WALL_WRONG_MS = 3_600_000;
/** Times nearer than this agree: a busy machine adds to a round trip, and a wrong clock is further off. */
const SLACK_MS = APART_MS / 2;
let redis: SteppedRedis;
const stores: Store[] = [];

type Shift = { ms: number };

async function open(shift: Shift, prefix?: string): Promise<Store> {
  const address = parseRedisAddress(`redis://127.0.0.1:${redis.port}`);
  if ('mistake' in address) throw new Error(address.mistake);
  const real = createClock();
  const clock: Clock = { ...real, monotonicMs: () => real.monotonicMs() + shift.ms };
  const named = prefix === undefined ? {} : { prefix };
  const store = await openRedisStore({ address, durability: 'disk', clock, log: SILENT, ...named });
  stores.push(store);
  return store;
}

beforeAll(async () => {
  redis = await startSteppedRedis();
  const wallMs = Date.now;
  vi.spyOn(Date, 'now').mockImplementation(() => wallMs() + WALL_WRONG_MS);
});
afterAll(async () => {
  vi.restoreAllMocks();
  for (const store of stores) await store.close();
  await redis.dispose();
});

test('two replicas with clocks five seconds apart agree on the time, and neither takes an entry before it is due', async () => {
  const behind = await open({ ms: 0 });
  const ahead = await open({ ms: APART_MS });
  for (const store of [behind, ahead]) await store.takeDue(1);
  const redisMs = performance.timeOrigin + performance.now();
  for (const store of [behind, ahead]) expect(Math.abs(store.nowMs() - redisMs)).toBeLessThan(SLACK_MS);
  for (const [scheduler, taker] of [
    [behind, ahead],
    [ahead, behind],
  ] as const) {
    await register(scheduler, 'A');
    await scheduler.takeDue(10);
    const atMs = scheduler.nowMs() + 700;
    must(await scheduler.commit({ writes: [], due: [{ ref: agentRef('A'), atMs }] }));
    await until('the other replica takes it', async () => (await taker.takeDue(10)).length > 0);
    expect(scheduler.nowMs()).toBeGreaterThanOrEqual(atMs - SLACK_MS);
  }
});

/** No gateway ran for this long, as far as the store knows. */
const STOPPED_MS = 86_400_000;

test('a store goes on from its last time by an offset, while the clocks of Redis and of the gateway disagree', async () => {
  const redisMs = (): number => performance.timeOrigin + performance.now();
  const lastMs = Math.floor(redisMs()) - STOPPED_MS;
  await redis.send(`HSET {offset}:meta swept ${lastMs}`);
  const store = await open({ ms: 0 }, '{offset}:');
  await register(store, 'A');
  const passedMs = store.nowMs() - lastMs;
  expect(passedMs).toBeGreaterThanOrEqual(0);
  expect(passedMs).toBeLessThan(STOPPED_MS / 2);
  const atMs = store.nowMs() - 1;
  must(await store.commit({ writes: [], due: [{ ref: agentRef('A'), atMs }] }));
  // Its offset follows round trips, of which a slow one sets its time back a little.
  const taken: unknown[] = [];
  await until('the entry is due', async () => {
    taken.push(...(await store.takeDue(10)).map(({ ref }) => ref));
    return taken.length > 0;
  });
  expect(taken).toEqual([agentRef('A')]);
});

/** For this long a virtual machine was suspended: its monotonic clock goes on where it was. */
const SUSPENDED_MS = 20_000;

test('a replica that was suspended takes the time of the others, and they keep it', {
  tags: 'faketime',
}, async () => {
  const elsewhere = { ms: 0 };
  const running = await open(elsewhere, '{suspended}:');
  const suspended = await open({ ms: 0 }, '{suspended}:');
  for (const store of [running, suspended]) await store.takeDue(1);
  // The time passes everywhere but in the suspended replica.
  redis.setClock(SUSPENDED_MS);
  elsewhere.ms = SUSPENDED_MS;
  await running.takeDue(1);
  // What it was about to commit comes too late: its caller gave up twenty seconds ago.
  await expect(register(suspended, 'A')).rejects.toThrow(/after its caller had given up/);
  await register(suspended, 'A');
  for (const store of [suspended, running]) await store.takeDue(1);
  const nowMs = performance.timeOrigin + performance.now() + SUSPENDED_MS;
  for (const store of [suspended, running]) {
    expect(Math.abs(store.nowMs() - nowMs)).toBeLessThan(SLACK_MS);
    expect(store.health()).toEqual({ ok: true });
  }
  expect(await redis.send('HGET {suspended}:meta offset')).toBe('$-1\r\n');
});
