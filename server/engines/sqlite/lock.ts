/**
 * Lets one process alone use a database. The lock is a file beside the database, in which this process holds
 * an exclusive transaction. When the process ends, in whatever way, the operating system releases the lock.
 * So there are no stale locks.
 *
 * A file can have two names, by a hard link or by a mount of the file. Each name has its own lock file and
 * journal, so two processes would damage the database. `requireOneName` refuses a file with several links. It
 * also refuses a file that a process has open under another name, because SQLite's own lock is on the file,
 * not on the name. It does not notice two processes that start in the same few milliseconds under two mounts.
 */
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../async/error-message.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';

/** At a restart, the earlier process may need this long to finish its work and end. */
const WAIT_MS = 10_000;
const TRY_EVERY_MS = 100;

/** `release` is idempotent. */
type Lock = { release(): void };

/** For waiting: the log says at once that another process has the database. */
type Waiting = { readonly clock: Clock; readonly log: Log };

/**
 * Takes the lock of a database file, whose folder must exist. Waits up to 10 s for another process to release
 * the lock, then rejects with an error that names the file.
 */
export async function takeLock(path: string, waiting: Waiting): Promise<Lock> {
  const file = `${path}.lock`;
  const inUse = `The database ${path} is in use by another process, most likely a gateway that runs already; it holds ${file}.`;
  return await waitUntilFree(path, waiting, () => tryLock(file), `${inUse} ${STOP_IT}`);
}

/**
 * Rejects if the file has several links, or if a process has it open under another name. `path` must be
 * locked, and its journal intact. Waits up to 10 s for a process that reads the file, such as a backup.
 */
export async function requireOneName(path: string, waiting: Waiting): Promise<void> {
  if (!existsSync(path)) return;
  const { nlink } = statSync(path);
  if (nlink > 1) {
    throw new Error(
      `The database ${path} has ${nlink} names (hard links), and SQLite would keep a journal for each of them. ` +
        `Copy the file (cp ${path} COPY), and name the copy.`,
    );
  }
  const inUse = `The database ${path} is in use by another process under another name.`;
  await waitUntilFree(path, waiting, () => tryExclusively(path), `${inUse} ${STOP_IT}`);
}

const STOP_IT = 'Stop that process, or name another file: STORE=sqlite:FILE.';

async function waitUntilFree<T>(
  path: string,
  { clock, log }: Waiting,
  attempt: () => T | undefined,
  inUse: string,
): Promise<T> {
  const deadlineMs = clock.monotonicMs() + WAIT_MS;
  let isReported = false;
  for (;;) {
    const taken = attempt();
    if (taken !== undefined) return taken;
    if (clock.monotonicMs() >= deadlineMs) throw new Error(inUse);
    if (!isReported) log.warn({ database: path }, WAITS);
    isReported = true;
    await clock.sleep(TRY_EVERY_MS);
  }
}

const WAITS = `another process uses the database: waiting up to ${WAIT_MS / 1_000} s for it to end`;

/**
 * True, or undefined while another process has the file open. Takes an exclusive lock on the file before its
 * journal is read, and releases it at once.
 */
function tryExclusively(path: string): true | undefined {
  const sqlite = new DatabaseSync(path, { timeout: 0 });
  try {
    sqlite.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK');
    return true;
  } catch (error) {
    // Any other error will come again, and be described, when the store opens the file.
    return isBusy(error) ? undefined : true;
  } finally {
    sqlite.close();
  }
}

/** Undefined while another process has the lock. */
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
