/** Opens the connections to a file: one for the writer thread, and one for reading what is committed. */
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../async/error-message.ts';
import { createTables, requireOwnFile } from './file-format.ts';
import { SCHEMA } from './schema.ts';

/** How long a connection waits for the rare exclusive locks of another. */
const BUSY_WAIT_MS = 250;
/** Large enough for the inner pages of a large file, so that an uncached read costs about one page. */
const CACHE_KIB = 32_768;
/**
 * A commit that leaves this many pages (32 MB) in the log moves the log into the database before it returns.
 * That takes as long as many commits, so it must be rare. A page that was written often is moved only once.
 */
const CHECKPOINT_PAGES = 8_000;
/** The log file is cut to this size when it starts over. */
const LOG_BYTES_MAX = 64 * 2 ** 20;

const PRAGMAS = `PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${CACHE_KIB};`;

/**
 * Opens the file for writing, and creates it if it is missing. On this connection a commit is on disk when it
 * returns. A thrown error says what to do.
 */
export function openFile(path: string): DatabaseSync {
  requireOwnFile(path);
  return openChecked(path, false, (sqlite) => {
    // The tables are created before the log begins, so that the header on disk says from the start whose file
    // it is.
    sqlite.exec('PRAGMA synchronous = FULL');
    createTables(sqlite, path);
    sqlite.exec(
      `${PRAGMAS} PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; ` +
        `PRAGMA journal_size_limit = ${LOG_BYTES_MAX}`,
    );
    const moved = sqlite.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    if (moved?.busy !== 0) throw new Error('its log is in use');
  });
}

/** Opens the file for reading. It must have been opened for writing before. */
export function openReader(path: string): DatabaseSync {
  return openChecked(path, true, (sqlite) => sqlite.exec(PRAGMAS));
}

export function openMemory(): DatabaseSync {
  const sqlite = new DatabaseSync(':memory:');
  sqlite.exec(SCHEMA);
  return sqlite;
}

function openChecked(path: string, readOnly: boolean, prepare: (sqlite: DatabaseSync) => void): DatabaseSync {
  let sqlite: DatabaseSync | undefined;
  try {
    sqlite = new DatabaseSync(path, { readOnly, timeout: BUSY_WAIT_MS });
    prepare(sqlite);
    return sqlite;
  } catch (error) {
    sqlite?.close();
    throw new Error(
      `The database ${path} can't be opened (${messageOf(error)}). Check that the file is intact and that its ` +
        'folder is writable; to start with an empty database, name another file.',
      { cause: error },
    );
  }
}
