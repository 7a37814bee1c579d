/** Connections to a file: one writes, in its thread; the other reads, and sees what is committed. */
import { DatabaseSync } from 'node:sqlite';

/** How long a connection waits for the rare exclusive locks of the other. */
const BUSY_WAIT_MS = 250;
/** Large enough for the inner pages of a large file, so that an uncached read costs about one page. */
const CACHE_KIB = 32_768;
/**
 * A commit that leaves this many pages in the log, 32 MB, moves it into the database before it returns. That
 * takes as long as many commits, so it is rare; and a page that was written often is moved once.
 */
const CHECKPOINT_PAGES = 8_000;
/** The log is cut to this size when it starts over. */
const LOG_BYTES_MAX = 64 * 2 ** 20;

const PRAGMAS = `PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${CACHE_KIB};`;

/** Opens the file for writing, and creates it if it is missing. A commit is on disk when it returns. */
export function openFile(path: string): DatabaseSync {
  const sqlite = new DatabaseSync(path, { timeout: BUSY_WAIT_MS });
  try {
    sqlite.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${PRAGMAS} ` +
        `PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA journal_size_limit = ${LOG_BYTES_MAX}; ` +
        'PRAGMA wal_checkpoint(TRUNCATE)',
    );
    return sqlite;
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/** Opens the file for reading; it must have been opened for writing before. */
export function openReader(path: string): DatabaseSync {
  const sqlite = new DatabaseSync(path, { readOnly: true, timeout: BUSY_WAIT_MS });
  sqlite.exec(PRAGMAS);
  return sqlite;
}

/** Opens tables in memory, for reading and writing. */
export function openMemory(): DatabaseSync {
  return new DatabaseSync(':memory:');
}
