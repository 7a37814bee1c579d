/** The stores on which the gateway's suites run. The gateway must behave the same on each. */
import { afterAll, describe } from 'vitest';
import { createPlainStore } from '../../server/engines/plain/store.ts';
import { openMemoryStore } from '../../server/engines/sqlite/open.ts';
import type { Store } from '../../server/ports/store.ts';
import type { FakeClock } from './fake-clock.ts';
import { endRedis, openRedisTestStore } from './redis-stores.ts';
import { createWallClock, SILENT } from './silent-log.ts';

/** Opens a fresh plain store. */
export function openPlainStore(clock: FakeClock): Store {
  return createPlainStore({ clock, wallMs: createWallClock(clock) });
}

/** Opens a fresh SQLite store in memory, written in this thread. */
export async function openFreshStore(clock: FakeClock): Promise<Store> {
  return openMemoryStore({ clock, log: SILENT, wallMs: createWallClock(clock) });
}

/** The name of a store, and how to open a fresh one, for `describe.each`. */
export type NamedStore = readonly [name: string, open: (clock: FakeClock) => Promise<Store>];

/** The stores that need no other process: a test can open thousands of them. */
export const QUICK_STORES: readonly NamedStore[] = [
  ['the plain store', async (clock) => openPlainStore(clock)],
  ['the SQLite engine', openFreshStore],
];

/** Describes a suite on a real Redis, which ends with the suite; skipped on a machine without Redis. */
export function describeOnRedis(title: string, suite: (name: string, open: NamedStore[1]) => void): void {
  describe.each<NamedStore>([['the Redis engine', (clock) => openRedisTestStore(clock)]])(
    title,
    { tags: 'redis' },
    (...store) => {
      afterAll(endRedis);
      suite(...store);
    },
  );
}

/** `npm test` runs the suites on the quick stores, `npm run test:ci` on Redis; a named file runs on all. */
const { GATEWAY_STORES } = process.env;

/** Like `describe.each` of all stores; on a machine without Redis, the suite on Redis is skipped. */
export function describeEachStore(title: string, suite: (name: string, open: NamedStore[1]) => void): void {
  if (GATEWAY_STORES !== 'redis') describe.each(QUICK_STORES)(title, suite);
  if (GATEWAY_STORES !== 'memory') describeOnRedis(title, suite);
}
