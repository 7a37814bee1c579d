/** The stores that the gateway's suites run on. The gateway must behave the same on each. */
import { keepInMemory } from '../../server/engines/embedded/open.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import type { FakeClock } from './fake-clock.ts';
import { createPlainStore } from './plain-store.ts';
import { demandRedis, REDIS_COMMANDS } from './redis-process.ts';
import { openRedisTestStore } from './redis-stores.ts';
import { createWallClock, SILENT } from './silent-log.ts';

/** A fresh embedded store in memory, written in this thread. */
export async function openFreshStore(clock: FakeClock): Promise<Store> {
  const kept = keepInMemory();
  const store = await createEmbeddedStore({
    openStorage: kept.open,
    clock,
    log: SILENT,
    wallMs: createWallClock(clock),
  });
  return { ...store, close: () => store.close().then(kept.close) };
}

/** A name and how to open a fresh store, for `describe.each`. */
export type NamedStore = readonly [name: string, open: (clock: FakeClock) => Promise<Store>];

/** The stores that need no other process: a test can open thousands of them. */
export const QUICK_STORES: readonly NamedStore[] = [
  ['the plain store', async (clock) => createPlainStore(clock)],
  ['the embedded engine', openFreshStore],
];

demandRedis('the suites of the gateway on Redis');

/** The stores on a real Redis; empty where none is installed. */
export const REDIS_STORES: readonly NamedStore[] =
  REDIS_COMMANDS.length > 0 ? [['the Redis engine', (clock) => openRedisTestStore(clock)]] : [];

/** All stores. */
export const STORES: readonly NamedStore[] = [...QUICK_STORES, ...REDIS_STORES];
