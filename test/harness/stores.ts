/** The stores that the gateway's own suites run on: each must be the same to it. */
import { keepInMemory } from '../../server/engines/embedded/open.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import type { FakeClock } from './fake-clock.ts';
import { createPlainStore } from './plain-store.ts';
import { demandRedis, REDIS_COMMANDS } from './redis-process.ts';
import { openRedisTestStore } from './redis-stores.ts';
import { SILENT, tellWallMs } from './silent-log.ts';

/** A fresh embedded store in memory, written in this thread. */
export async function openFreshStore(clock: FakeClock): Promise<Store> {
  const kept = keepInMemory();
  const store = await createEmbeddedStore({
    openStorage: kept.open,
    clock,
    log: SILENT,
    wallMs: tellWallMs(clock),
  });
  return { ...store, close: () => store.close().then(kept.close) };
}

/** A store by its name, for `describe.each`. */
export type NamedStore = readonly [name: string, open: (clock: FakeClock) => Promise<Store>];

/** Those of this process alone: thousands of them are opened in no time. */
export const QUICK_STORES: readonly NamedStore[] = [
  ['the plain store', async (clock) => createPlainStore(clock)],
  ['the embedded engine', openFreshStore],
];

demandRedis('the suites of the gateway on Redis');

/** A real Redis behind each; where none is installed there are none. */
export const REDIS_STORES: readonly NamedStore[] =
  REDIS_COMMANDS.length > 0 ? [['the Redis engine', (clock) => openRedisTestStore(clock)]] : [];

/** All of them. */
export const STORES: readonly NamedStore[] = [...QUICK_STORES, ...REDIS_STORES];
