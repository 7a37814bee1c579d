/** The SQLite engine as a store under test: over each kind of tables, with a disk that the test controls. */
import { join } from 'node:path';
import { openFile, openMemory, openReader } from '../../server/engines/sqlite/connection.ts';
import { createSqliteStore, type Tables } from '../../server/engines/sqlite/store.ts';
import { startWriter, type Writer, writeHere } from '../../server/engines/sqlite/writer.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { makeFolder } from '../harness/folder.ts';
import { SILENT } from '../harness/silent-log.ts';
import type { Disk, StoreUnderTest } from './store-under-test.ts';

const START_MS = 1_700_000_000_000;

/** Tables in memory, which outlive the stores that are opened on them. */
export function keepInMemory(): () => Tables {
  const sqlite = openMemory();
  return () => ({ writer: writeHere(sqlite), reader: sqlite, isShared: true });
}

/** A file that this thread writes. */
export function openFileHere(path: string): Tables {
  const sqlite = openFile(path);
  const writer = { ...writeHere(sqlite), close: async () => sqlite.close() };
  return { writer, reader: openReader(path), isShared: false };
}

/** Tables in memory, which are kept while the subject is. */
export async function createMemorySubject(): Promise<StoreUnderTest> {
  const open = keepInMemory();
  return createSubject(
    async () => open(),
    () => undefined,
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

/** A new folder, and the path of a database in it. */
export function createTestFolder(): { readonly path: string; readonly folder: string; remove(): void } {
  const { path: folder, remove } = makeFolder();
  return { folder, path: join(folder, 'tasks.db'), remove };
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
export function createDisk(): Disk & { wrap(writer: Writer): Writer } {
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
