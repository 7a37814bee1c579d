/** How a life gets its store on the real engines: data that outlives the crashes in between. */
import { keepInMemory } from '../../server/engines/embedded/open.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import type { FakeClock } from '../harness/fake-clock.ts';
import { nameRedisStore, openRedisTestStore } from '../harness/redis-stores.ts';
import { SILENT, tellWallMs } from '../harness/silent-log.ts';
import type { Lifetimes } from './model-run.ts';

/** A fresh embedded store in this thread, and what is left of it after a crash. */
export function createLifetimes(): Lifetimes {
  const kept = keepInMemory();
  const open = (clock: FakeClock): Promise<Store> =>
    createEmbeddedStore({ openStorage: kept.open, clock, log: SILENT, wallMs: tellWallMs(clock) });
  return followLives(open, kept.close);
}

/** A fresh store in a real Redis, which knows nothing of the crashes of its gateways. */
export function createRedisLifetimes(): Lifetimes {
  const prefix = nameRedisStore();
  return followLives((clock) => openRedisTestStore(clock, prefix));
}

/** One store after the other over the same data; at the end the last one is closed, then what is beneath. */
function followLives(open: (clock: FakeClock) => Promise<Store>, endData = () => {}): Lifetimes {
  let store: Store | null = null;
  const openNext = async (clock: FakeClock): Promise<Store> => {
    await store?.close();
    store = await open(clock);
    return store;
  };
  return {
    open: openNext,
    reopen: openNext,
    async end() {
      await store?.close();
      endData();
    },
  };
}
