/** Replicas whose own clocks differ go by that of Redis: they agree on the time, and on what is due. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parseRedisAddress } from '../../server/engines/redis/address.ts';
import { openRedisStore } from '../../server/engines/redis/open.ts';
import type { Clock } from '../../server/ports/clock.ts';
import type { Store } from '../../server/ports/store.ts';
import { createClock } from '../../server/system/clock.ts';
import { demandRedis, type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { agentRef, must, register, until } from './store-under-test.ts';

demandRedis('the suite on clocks that differ');

const APART_MS = 5_000;
/** How wrong the wall clock of this process is: what leans on it is far from what Redis says. */
const WALL_WRONG_MS = 3_600_000;
/** What a machine with much else to do may add to a round trip. */
const SLACK_MS = 250;
let redis: RedisProcess;
const stores: Store[] = [];

async function open(shiftMs: number): Promise<Store> {
  const address = parseRedisAddress(`redis://127.0.0.1:${redis.port}`);
  if ('mistake' in address) throw new Error(address.mistake);
  const real = createClock();
  const clock: Clock = { ...real, monotonicMs: () => real.monotonicMs() + shiftMs };
  const store = await openRedisStore({ address, durability: 'disk', clock, log: SILENT });
  stores.push(store);
  return store;
}

beforeAll(async () => {
  redis = await startRedis();
  const wallMs = Date.now;
  vi.spyOn(Date, 'now').mockImplementation(() => wallMs() + WALL_WRONG_MS);
});
afterAll(async () => {
  vi.restoreAllMocks();
  for (const store of stores) await store.close();
  await redis.dispose();
});

test('two replicas five seconds apart tell one time, and neither finds something due before the other would', async () => {
  const behind = await open(0);
  const ahead = await open(APART_MS);
  for (const store of [behind, ahead]) await store.takeDue(1);
  const redisMs = performance.timeOrigin + performance.now();
  for (const store of [behind, ahead]) expect(Math.abs(store.nowMs() - redisMs)).toBeLessThan(SLACK_MS);
  for (const [from, by] of [
    [behind, ahead],
    [ahead, behind],
  ] as const) {
    await register(from, 'A');
    await from.takeDue(10);
    const atMs = from.nowMs() + 700;
    must(await from.commit({ writes: [], due: [{ ref: agentRef('A'), atMs }] }));
    let takenMs = 0;
    await until('the other takes it', async () => {
      const taken = await by.takeDue(10);
      takenMs = from.nowMs();
      return taken.length > 0;
    });
    expect(takenMs).toBeGreaterThanOrEqual(atMs - SLACK_MS);
    expect(takenMs).toBeLessThan(atMs + APART_MS / 2);
  }
});
