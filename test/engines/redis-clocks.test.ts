/**
 * Replicas whose own clocks differ use that of Redis: they agree on the time, and on what is due, also when
 * it steps. One whose monotonic clock stood still takes the time of the others.
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
import { agentRef, cursorsOf, finish, idsOf, must, readFeed, register, until } from './store-under-test.ts';

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

const DAY_MS = 86_400_000;

test('when the clock of Redis steps, what is due follows it, stamps of events rise, and no contact seems old', {
  tags: 'faketime',
}, async () => {
  const store = await open({ ms: 0 }, '{stepped}:');
  await register(store, 'A');
  must(await store.commit({ writes: [], due: [{ ref: agentRef('A'), atMs: store.nowMs() + DAY_MS / 2 }] }));
  const taken: number[] = [];
  for (const shiftMs of [0, DAY_MS, -DAY_MS]) {
    redis.setClock(shiftMs);
    // A process that finds its time off by so much takes nothing at first.
    await store.takeDue(10);
    taken.push((await store.takeDue(10)).filter(({ ref }) => ref === agentRef('A')).length);
    const aheadMs = store.nowMs() - (performance.timeOrigin + performance.now());
    expect(Math.abs(aheadMs - shiftMs)).toBeLessThan(SLACK_MS);
    const { contact } = (await store.getAgentStatus('A')) ?? expect.fail('The agent is gone.');
    expect(contact.contactMs).toBeGreaterThan(store.nowMs() - SLACK_MS);
    await finish(store, `t${shiftMs}`);
  }
  expect(taken).toEqual([0, 1, 0]);
  expect(store.health()).toMatchObject({ ok: true, warning: expect.stringContaining('clock of Redis') });
  const items = await readFeed(store, 's', null, 3);
  expect(idsOf(items)).toEqual(['t0', `t${DAY_MS}`, `t${-DAY_MS}`]);
  const times = cursorsOf(items).map((cursor) => Number(cursor.split('-')[0]));
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  redis.setClock(0);
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
  // With its next sweep it knows the time.
  for (const store of [suspended, running]) await store.takeDue(1);
  await register(suspended, 'A');
  const nowMs = performance.timeOrigin + performance.now() + SUSPENDED_MS;
  for (const store of [suspended, running]) {
    expect(Math.abs(store.nowMs() - nowMs)).toBeLessThan(SLACK_MS);
  }
});
