/** How a life gets its store on the embedded engine: a database that outlives the crashes in between. */
import { keepInMemory } from '../../server/engines/embedded/open.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import type { FakeClock } from '../fakes/clock.ts';
import { SILENT, tellWallMs } from '../fakes/stores.ts';
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
