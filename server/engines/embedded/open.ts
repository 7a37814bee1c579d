/**
 * Opens the embedded engine by the name of its storage: `memory:`, which is lost when the process ends, or
 * `sqlite:PATH`, a file that no other process can open meanwhile.
 */
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Keyv } from 'keyv';
import type { Clock } from '../../ports/clock.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { Log } from '../../ports/log.ts';
import type { Store } from '../../ports/store.ts';
import { claimDatabase, isOwnDatabase, openDatabase, openReader } from './sqlite/database.ts';
import { makeFolder, protectFiles } from './sqlite/folder.ts';
import { readFreeSpace } from './sqlite/free-space.ts';
import { isDiskError } from './sqlite/inspection.ts';
import { takeLock } from './sqlite/lock.ts';
import { startWriter } from './sqlite/writer.ts';
import { createAdapter, writeHere } from './storage/keyv-adapter.ts';
import { keepInMemory } from './storage/memory-storage.ts';
import { openKeyv } from './storage/ordered-storage.ts';
import { createEmbeddedStore } from './store.ts';

const SQLITE_SCHEME = 'sqlite:';
const INSPECT_AFTER_MS = 1_000;
/**
 * The pages of the inspection are garbage at once: if there were more, they would only be held from the
 * system.
 */
const INSPECTION_YOUNG_MB = 2;
const INSPECTION = new URL(
  import.meta.url.endsWith('.ts') ? './sqlite/inspection-thread.ts' : './sqlite/inspection-thread.js',
  import.meta.url,
);

type EmbeddedOptions = {
  /** `memory:` or `sqlite:PATH`. */
  readonly storage: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Bytes that open tasks may take of the memory. Default: any number. */
  readonly openBytesMax?: number;
};

type OpenDeps = Omit<EmbeddedOptions, 'storage'>;

/** Opens the store; rejects with an error that says what to do. */
export async function openEmbeddedStore({ storage, ...deps }: EmbeddedOptions): Promise<Store> {
  if (storage === 'memory:') return await createEmbeddedStore({ ...deps, openStorage: keepInMemory() });
  const path = storage.startsWith(SQLITE_SCHEME) ? storage.slice(SQLITE_SCHEME.length) : '';
  if (path === '') {
    throw new Error(
      `The embedded engine does not know the storage "${storage}". Use sqlite:PATH or memory:.`,
    );
  }
  return await openFileStore(makeFolder(resolve(path)), deps);
}

async function openFileStore(path: string, deps: OpenDeps): Promise<Store> {
  // Before the lock: SQLite gives its journal the permissions of the lock file.
  if (isOwnDatabase(path)) protectFiles(path);
  const lock = await takeLock(path, deps);
  try {
    await claimDatabase(path, deps);
    const openStorage = (): Promise<Keyv<string>> => openThreadedFile(path);
    const { outputEveryMs } = STORE_LIMITS;
    const store = await createEmbeddedStore({ ...deps, openStorage, outputEveryMs });
    const inspection = scheduleInspection(path, deps);
    return {
      ...store,
      async close() {
        await inspection.stop();
        await store.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Inspects the file once it is served: two processors have enough to do with a start. */
function scheduleInspection(
  path: string,
  { clock, log }: { clock: Clock; log: Log },
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const started = clock.sleep(INSPECT_AFTER_MS, stopping.signal).then(() => {
    return stopping.signal.aborted ? undefined : startInspection(path, log);
  });
  return {
    async stop() {
      stopping.abort();
      await (await started)?.terminate();
    },
  };
}

/**
 * Looks for hidden damage in a thread of its own, so that the log reports damage before a caller meets it.
 */
function startInspection(path: string, log: Log): Worker {
  const resourceLimits = { maxYoungGenerationSizeMb: INSPECTION_YOUNG_MB };
  const worker = new Worker(INSPECTION, { workerData: path, execArgv: [], resourceLimits });
  worker.unref();
  worker.on('message', (damage: string | undefined) => {
    if (damage === undefined) log.debug({}, 'the database was inspected: no damage');
    else log.error({ damage }, 'the database is damaged: rows may read as absent; restore it from a copy');
  });
  // An outage of the disk is the store's to report.
  worker.on('error', (error) =>
    log[isDiskError(error) ? 'debug' : 'warn'](
      { err: error },
      'the database could not be inspected for damage',
    ),
  );
  return worker;
}

/** Opens a file that this thread reads and writes: a stuck disk blocks the whole process. */
export async function openFileHere(path: string): Promise<Keyv<string>> {
  const database = openDatabase(path);
  return openKeyv(createAdapter(database, writeHere(database)));
}

/** Opens a file that its own thread writes; this thread reads through a second connection. */
export async function openThreadedFile(path: string): Promise<Keyv<string>> {
  const writer = await startWriter(path);
  try {
    const reader = openReader(path);
    return openKeyv({ ...createAdapter(reader, writer), readSpace: () => readFreeSpace(path, reader) });
  } catch (error) {
    await writer.close();
    throw error;
  }
}
