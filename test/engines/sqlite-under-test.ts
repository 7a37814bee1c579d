/** The SQLite engine as a store under test: over each kind of tables, with a disk that the test controls. */
import { openMemory, openReader } from '../../server/engines/sqlite/connection.ts';
import { createSqliteStore, type Tables } from '../../server/engines/sqlite/store.ts';
import { startWriter, type Writer, writeHere } from '../../server/engines/sqlite/writer.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { createTestFolder } from './embedded-under-test.ts';
import type { Disk, StoreUnderTest } from './store-under-test.ts';

const START_MS = 1_700_000_000_000;

/** Tables in memory, which are kept while the subject is. */
export async function createMemorySubject(): Promise<StoreUnderTest> {
  const sqlite = openMemory();
  // Closing the store must leave the tables to the next one.
  const reader = Object.assign(Object.create(sqlite), { close: () => undefined });
  const kept = new Proxy(sqlite, {
    get(target, name) {
      if (name === 'close') return reader.close;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return createSubject(
    async () => ({ writer: writeHere(sqlite), reader: kept, isShared: true }),
    () => sqlite.close(),
  );
}

/** A file that its own thread writes. */
export async function createThreadSubject(): Promise<StoreUnderTest> {
  const { path, remove } = createTestFolder();
  return createSubject(async () => {
    const writer = await startWriter(path);
    return { writer, reader: openReader(path), isShared: false };
  }, remove);
}

function createSubject(openTables: () => Promise<Tables>, remove: () => void): StoreUnderTest {
  const clock = createFakeClock();
  const disk = createDisk();
  const stores: Store[] = [];
  return {
    disk,
    async open({ wallShiftMs = 0 } = {}) {
      const tables = await openTables();
      const store = createSqliteStore(
        { ...tables, writer: disk.wrap(tables.writer) },
        { clock, log: SILENT, wallMs: () => START_MS + clock.nowMs() + wallShiftMs },
      );
      stores.push(store);
      return store;
    },
    advance: (ms) => clock.advance(ms),
    async dispose() {
      disk.mend();
      disk.release();
      for (const store of stores) await store.close();
      remove();
    },
  };
}

/** Stands between the engine and its writer. */
function createDisk(): Disk & { wrap(writer: Writer): Writer } {
  let hold: PromiseWithResolvers<void> | null = null;
  let failing: 'lost' | 'applied' | null = null;
  let heldWrites = 0;
  return {
    readsWaitForWrites: false,
    readsShowDurable: true,
    hold() {
      hold ??= Promise.withResolvers();
    },
    release() {
      hold?.resolve();
      hold = null;
    },
    isHolding: () => heldWrites > 0,
    fail(how) {
      failing = how;
    },
    mend() {
      failing = null;
    },
    wrap: (writer) => ({
      ...writer,
      async apply(words) {
        if (hold) {
          heldWrites += 1;
          await hold.promise;
          heldWrites -= 1;
        }
        if (failing === 'lost') throw new Error('no space left on device');
        const reply = await writer.apply(words);
        if (failing === 'applied') throw new Error('the reply was lost');
        return reply;
      },
    }),
  };
}
