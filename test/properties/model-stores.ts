/** The stores of a model run on the real engines: their data survives the crashes in between. */
import { createSqliteStore } from '../../server/engines/sqlite/store.ts';
import type { Store } from '../../server/ports/store.ts';
import { keepInMemory } from '../engines/sqlite-under-test.ts';
import type { FakeClock } from '../harness/fake-clock.ts';
import { nameRedisStore, openRedisTestStore } from '../harness/redis-stores.ts';
import { createWallClock, SILENT } from '../harness/silent-log.ts';
import type { ModelStores } from './model-run.ts';

/** A fresh SQLite store in this thread, and after each crash one on the data that is left of it. */
export function createSqliteStores(): ModelStores {
  const openTables = keepInMemory();
  return openInTurn(async (clock) =>
    createSqliteStore(openTables(), { clock, log: SILENT, wallMs: createWallClock(clock) }),
  );
}

/** A fresh store in a real Redis, which keeps running when the gateway crashes. */
export function createRedisStores(): ModelStores {
  const prefix = nameRedisStore();
  return openInTurn((clock) => openRedisTestStore(clock, prefix));
}

/** One store after the other over the same data. At the end the last one is closed. */
function openInTurn(open: (clock: FakeClock) => Promise<Store>): ModelStores {
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
    },
  };
}
