/**
 * Opens the SQLite engine: on a file, which no other process can open meanwhile, or in memory, where
 * everything is lost at the end of the process.
 */
import { resolve } from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { Log } from '../../ports/log.ts';
import type { Store } from '../../ports/store.ts';
import { openMemory, openReader } from './connection.ts';
import { requireOwnFile } from './file-format.ts';
import { createFileLook } from './file-watch.ts';
import { makeFolder, protectFiles } from './folder.ts';
import { inspectOnce } from './inspection.ts';
import { requireOneName, takeLock } from './lock.ts';
import { createPrepareQuery } from './statements.ts';
import { createSqliteStore } from './store.ts';
import { startWriter, writeHere } from './writer.ts';

type OpenDeps = { readonly clock: Clock; readonly log: Log };

export function openMemoryStore(deps: OpenDeps & { readonly wallMs?: () => number }): Store {
  const sqlite = openMemory();
  return createSqliteStore({ writer: writeHere(sqlite), reader: sqlite, isShared: true }, deps);
}

/** Opens a store on a file. An error says what to do. */
export async function openFileStore(file: string, deps: OpenDeps): Promise<Store> {
  const path = makeFolder(resolve(file));
  // Comes before anything is opened, because SQLite gives new files the permissions of existing ones.
  if (requireOwnFile(path)) protectFiles(path);
  const lock = await takeLock(path, deps);
  try {
    await requireOneName(path, deps);
    const writer = await startWriter(path);
    const reader = openReader(path);
    const look = createFileLook(
      path,
      createPrepareQuery(reader, () => undefined),
    );
    const { outputEveryMs } = STORE_LIMITS;
    const store = createSqliteStore({ writer, reader, isShared: false, look }, { ...deps, outputEveryMs });
    const closing = new AbortController();
    void inspectOnce(path, { ...deps, closed: closing.signal });
    return {
      ...store,
      async close() {
        closing.abort();
        await store.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}
