/**
 * One process for one database: a lock file beside it, held by an open exclusive transaction. The operating system
 * lets go of it when the process ends, however it ends; so a stale lock does not exist.
 */
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../../ports/clock.ts';

/** A restart follows a drain: the one before may take so long to leave. */
const WAIT_MS = 10_000;
const TRY_EVERY_MS = 100;

export type Lock = { release(): void };

/**
 * Takes the lock of a database file whose folder is there; waits up to 10 s for another process to let go.
 * Fails with a sentence that names the file.
 */
export async function takeLock(path: string, clock: Clock): Promise<Lock> {
  const file = `${path}.lock`;
  const untilMs = clock.monotonicMs() + WAIT_MS;
  for (;;) {
    const lock = tryLock(file);
    if (lock) return lock;
    if (clock.monotonicMs() >= untilMs) {
      throw new Error(
        `The database ${path} is in use by another process, which holds ${file}. Stop that process, or name another file.`,
      );
    }
    await clock.sleep(TRY_EVERY_MS);
  }
}

/** The lock, or undefined while somebody else has it. */
function tryLock(file: string): Lock | undefined {
  let sqlite: DatabaseSync | undefined;
  try {
    sqlite = new DatabaseSync(file, { timeout: 0 });
    sqlite.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    sqlite?.close();
    if (isBusy(error)) return undefined;
    throw new Error(
      `The lock file ${file} can't be used (${reasonOf(error)}). The folder of the database must allow writing.`,
      { cause: error },
    );
  }
  const held = sqlite;
  return {
    release() {
      if (held.isOpen) held.close();
    },
  };
}

const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
