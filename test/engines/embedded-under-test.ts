/** The embedded engine as a subject: over any way to open its storage, with a disk that obeys the test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Keyv } from 'keyv';
import { keepInMemory, openFileHere, openThreadedFile } from '../../server/engines/embedded/open.ts';
import type { OpenStorage } from '../../server/engines/embedded/recovery.ts';
import { openKeyv, type StorageAdapter } from '../../server/engines/embedded/sqlite/ordered-storage.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import type { Disk, Subject } from './store-under-test.ts';

const START_MS = 1_700_000_000_000;

/** In memory, in this thread. */
export async function createMemorySubject(): Promise<Subject> {
  const memory = keepInMemory();
  return createSubject(memory.open, memory.close);
}

/** A file that this thread reads and writes. */
export async function createFileSubject(): Promise<Subject> {
  const { path, remove } = makeFolder();
  return createSubject(() => openFileHere(path), remove);
}

/** A file with a thread of its own that writes. */
export async function createThreadSubject(): Promise<Subject> {
  const { path, remove } = makeFolder();
  return createSubject(() => openThreadedFile(path), remove);
}

/** A folder of the test's own, and a database's path in it. */
export function makeFolder(): { readonly path: string; readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-'));
  return {
    folder,
    path: join(folder, 'tasks.db'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function createSubject(openStorage: OpenStorage, remove: () => void): Subject {
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

/** Stands between the engine and its storage. What is held when the storage is let go of never reaches it. */
export function createDisk(): Disk & { wrap(keyv: Keyv<string>): Keyv<string> } {
  let gate: PromiseWithResolvers<void> | null = null;
  let failing: 'lost' | 'applied' | null = null;
  let held = 0;

  return {
    isOneLine: false,
    hold() {
      gate ??= Promise.withResolvers();
    },
    release() {
      gate?.resolve();
      gate = null;
    },
    isHolding: () => held > 0,
    fail(how) {
      failing = how;
    },
    mend() {
      failing = null;
    },
    wrap(keyv) {
      const adapter = keyv.store as unknown as StorageAdapter;
      let gone = false;
      return openKeyv({
        ...adapter,
        async apply(sets, deletes) {
          if (gate) {
            held += 1;
            await gate.promise;
            held -= 1;
          }
          if (gone) throw new Error('the storage was let go of');
          if (failing === 'lost') throw new Error('no space left on device');
          await adapter.apply(sets, deletes);
          if (failing === 'applied') throw new Error('the answer was lost');
        },
        async disconnect() {
          gone = true;
          await adapter.disconnect?.();
        },
      });
    },
  };
}
