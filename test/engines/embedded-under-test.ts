/**
 * The embedded engine as a store under test: over each kind of storage, with a disk that the test controls.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Keyv } from 'keyv';
import { openFileHere, openThreadedFile } from '../../server/engines/embedded/open.ts';
import type { OpenStorage } from '../../server/engines/embedded/recovery.ts';
import { keepInMemory } from '../../server/engines/embedded/storage/memory-storage.ts';
import { openKeyv, type StorageAdapter } from '../../server/engines/embedded/storage/ordered-storage.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import type { Disk, StoreUnderTest } from './store-under-test.ts';

const START_MS = 1_700_000_000_000;

/** Data in memory, in this thread. */
export async function createMemoryStoreUnderTest(): Promise<StoreUnderTest> {
  return createStoreUnderTest(keepInMemory(), () => undefined);
}

/** A file that this thread reads and writes. */
export async function createFileStoreUnderTest(): Promise<StoreUnderTest> {
  const { path, remove } = createTestFolder();
  return createStoreUnderTest(() => openFileHere(path), remove);
}

/** A file that its own thread writes. */
export async function createThreadStoreUnderTest(): Promise<StoreUnderTest> {
  const { path, remove } = createTestFolder();
  return createStoreUnderTest(() => openThreadedFile(path), remove);
}

/** A new folder, and the path of a database in it. */
export function createTestFolder(): { readonly path: string; readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-'));
  return {
    folder,
    path: join(folder, 'tasks.db'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function createStoreUnderTest(openStorage: OpenStorage, remove: () => void): StoreUnderTest {
  const clock = createFakeClock();
  const disk = createDisk();
  const stores: Store[] = [];
  return {
    disk,
    async open({ wallShiftMs = 0 } = {}) {
      const store = await createEmbeddedStore({
        openStorage: async () => disk.wrap(await openStorage()),
        clock,
        log: SILENT,
        wallMs: () => START_MS + clock.nowMs() + wallShiftMs,
      });
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

/**
 * Stands between the engine and its storage. Writes that are held when the storage is disconnected never
 * reach it.
 */
export function createDisk(): Disk & { wrap(keyv: Keyv<string>): Keyv<string> } {
  let hold: PromiseWithResolvers<void> | null = null;
  let failing: 'lost' | 'applied' | null = null;
  let heldWrites = 0;

  return {
    readsWaitForWrites: false,
    readsShowDurable: false,
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
    wrap(keyv) {
      const adapter = keyv.store as unknown as StorageAdapter;
      let isDisconnected = false;
      return openKeyv({
        ...adapter,
        async apply(sets, deletes) {
          if (hold) {
            heldWrites += 1;
            await hold.promise;
            heldWrites -= 1;
          }
          if (isDisconnected) throw new Error('the storage is disconnected');
          if (failing === 'lost') throw new Error('no space left on device');
          await adapter.apply(sets, deletes);
          if (failing === 'applied') throw new Error('the reply was lost');
        },
        async disconnect() {
          isDisconnected = true;
          await adapter.disconnect?.();
        },
      });
    },
  };
}

/** Opens a file as the engine does in one thread; the keys that are read through Keyv are noted. */
export async function openNotingReads(path: string, reads: string[]): ReturnType<typeof openFileHere> {
  const keyv = await openFileHere(path);
  const get = keyv.get.bind(keyv);
  const noted = (key: string) => {
    reads.push(key);
    return get(key);
  };
  return Object.assign(keyv, { get: noted as typeof keyv.get });
}
