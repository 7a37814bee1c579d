/**
 * One process for one database: a lock file beside the database, locked by an open exclusive transaction. The
 * operating system releases the lock when the process ends, however it ends; so there are no stale locks.
 */
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../../async/error-message.ts';
import type { Clock } from '../../../ports/clock.ts';

/** At a restart, the process before may need this long to finish its work and end. */
const WAIT_MS = 10_000;
const TRY_EVERY_MS = 100;

/** `release` is idempotent. */
type Lock = { release(): void };

/**
 * Takes the lock of a database file whose folder exists; waits up to 10 s for another process to release it.
 * Rejects with an error that names the file.
 */
export async function takeLock(path: string, clock: Clock): Promise<Lock> {
  const file = `${path}.lock`;
  const deadlineMs = clock.monotonicMs() + WAIT_MS;
  for (;;) {
    const lock = tryLock(file);
    if (lock) return lock;
    if (clock.monotonicMs() >= deadlineMs) {
      throw new Error(
        `The database ${path} is in use by another process, which holds ${file}. Stop that process, or name another file.`,
      );
    }
    await clock.sleep(TRY_EVERY_MS);
  }
}

/** The lock; undefined while another process has it. */
function tryLock(file: string): Lock | undefined {
  let sqlite: DatabaseSync | undefined;
  try {
    sqlite = new DatabaseSync(file, { timeout: 0 });
    sqlite.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    sqlite?.close();
    if (isBusy(error)) return undefined;
    throw new Error(
      `The lock file ${file} can't be used (${messageOf(error)}). Make the folder of the database writable.`,
      { cause: error },
    );
  }
  const connection = sqlite;
  return {
    release() {
      if (connection.isOpen) connection.close();
    },
  };
}

const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}
