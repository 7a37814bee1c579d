/** How a life gets its store on the real engines: data that outlives the crashes in between. */
import { keepInMemory } from '../../server/engines/embedded/open.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import type { FakeClock } from '../fakes/clock.ts';
import { nameRedisStore, openRedisTestStore } from '../fakes/redis-stores.ts';
import { SILENT, tellWallMs } from '../fakes/silence.ts';
import type { Lifetimes } from './life.ts';

/** A fresh embedded store in this thread, and what is left of it after a crash. */
export function createLifetimes(): Lifetimes {
  const kept = keepInMemory();
  let store: Store | null = null;
  const open = async (clock: FakeClock): Promise<Store> => {
    store = await createEmbeddedStore({
      openStorage: kept.open,
      clock,
      log: SILENT,
      wallMs: tellWallMs(clock),
    });
    return store;
  };
  return {
    open,
    async reopen(clock) {
      await store?.close();
      return await open(clock);
    },
    async end() {
      await store?.close();
      kept.close();
    },
  };
}

/** A fresh store in a real Redis, which knows nothing of the crashes of its gateways. */
export function createRedisLifetimes(): Lifetimes {
  const prefix = nameRedisStore();
  let store: Store | null = null;
  const open = async (clock: FakeClock): Promise<Store> => {
    store = await openRedisTestStore(clock, prefix);
    return store;
  };
  return {
    open,
    async reopen(clock) {
      await store?.close();
      return await open(clock);
    },
    async end() {
      await store?.close();
    },
  };
}
