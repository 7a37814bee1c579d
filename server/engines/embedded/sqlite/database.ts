/**
 * One SQLite file as an ordered map of text to text. All calls are synchronous.
 *
 * Promises
 * - The file names the program it belongs to and its format version; any other file is refused with an error
 *   that says what to do.
 * - Each value has a CRC-32 over key and value. A damaged value is an error that names the key, never a wrong
 *   value.
 * - `apply` is one transaction, and it is on disk (WAL, synchronous FULL) when `apply` returns.
 */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { messageOf } from '../../../async/error-message.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { requireOneName } from './lock.ts';
import type { Row } from './ordered-storage.ts';
import { repairLog } from './write-ahead-log.ts';

/** Marks a SQLite file as one of the gateway: "TGW1" in ASCII. */
const APPLICATION_ID = 0x54475731;
/** Where the header of a SQLite file holds the application id, in bytes. */
const APPLICATION_ID_OFFSET = 68;
/** Rises when an older gateway can no longer read what this one writes. */
const FORMAT_VERSION = 1;
/** How long a read waits for the writer's rare exclusive locks (recovery of the log, the last checkpoint). */
const BUSY_WAIT_MS = 250;
/** Large enough for the inner pages of a large file, so that an uncached read costs about one page. */
const READER_CACHE_KIB = 32_768;
/**
 * A commit that leaves so many pages in the log, 32 MB, moves it into the database before it returns. That
 * takes as long as many commits, so it is rare; and a page that was written often is moved once.
 */
const CHECKPOINT_PAGES = 8_000;
/** How many rows one statement writes. */
const ROWS_PER_STATEMENT = 16;

export type Database = {
  get(key: string): string | undefined;
  /** At most `limit` rows from `from` (included) to `to` (excluded), in key order or in reverse. */
  scan(from: string, to: string, limit: number, reverse: boolean): readonly Row[];
  /**
   * At most `limit` rows from `from` to the end of the file, in its order. A bound would end this before a
   * damaged key that compares as larger than the bound.
   */
  scanToEnd(from: string, limit: number): readonly Row[];
  /** Writes and removes in one transaction. */
  apply(sets: Iterable<Row>, deletes: Iterable<string>): void;
  /** Moves the log into the database now. A failure changes nothing: the log keeps what it has. */
  checkpoint(): void;
  /** Idempotent. */
  close(): void;
};

/**
 * Opens a file for reading and writing, and creates it if necessary; `:memory:` keeps everything in memory.
 */
export function openDatabase(path: string): Database {
  return openChecked(path, () => {
    if (belongsToGateway(path)) repairLog(path);
    const sqlite = new DatabaseSync(path, { timeout: BUSY_WAIT_MS });
    try {
      sqlite.exec('PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY');
      prepareFormat(sqlite, path);
      // After the check of the format: this changes the file, and a file of another program must not change.
      sqlite.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      return readWrite(sqlite, path);
    } catch (error) {
      sqlite.close();
      throw error;
    }
  });
}

/**
 * Prepares a file for its first use by this process, which must hold its lock: repairs the journal, and
 * rejects when the file can be reached under another name. Leaves the file of another program alone.
 */
export async function claimDatabase(path: string, deps: { clock: Clock; log: Log }): Promise<void> {
  if (!belongsToGateway(path)) return;
  repairLog(path);
  await requireOneName(path, deps);
}

/**
 * Opens a read-only connection; the file must have been opened for writing before. `cacheKib` of its pages
 * are kept in memory.
 */
export function openReader(path: string, cacheKib = READER_CACHE_KIB): Database {
  return openChecked(path, () => {
    const sqlite = new DatabaseSync(path, { readOnly: true, timeout: BUSY_WAIT_MS });
    sqlite.exec(`PRAGMA cache_size = -${cacheKib}`);
    return readWrite(sqlite, path);
  });
}

function openChecked(path: string, open: () => Database): Database {
  try {
    return open();
  } catch (error) {
    if (error instanceof UnusableFile) throw error;
    throw new Error(
      `The database ${path} can't be opened (${messageOf(error)}). Check that the file is intact and that its ` +
        'folder is writable; to start with an empty database, name another file.',
      { cause: error },
    );
  }
}

/** Read without SQLite, which would already change the files of another program. */
function belongsToGateway(path: string): boolean {
  if (path === ':memory:' || !existsSync(path)) return false;
  const head = Buffer.alloc(APPLICATION_ID_OFFSET + 4);
  const descriptor = openSync(path, 'r');
  try {
    const length = readSync(descriptor, head, 0, head.length, 0);
    return length === head.length && head.readUInt32BE(APPLICATION_ID_OFFSET) === APPLICATION_ID;
  } finally {
    closeSync(descriptor);
  }
}

/** An intact file that this gateway must not use. */
class UnusableFile extends Error {}

function prepareFormat(sqlite: DatabaseSync, path: string): void {
  const owner = readPragma(sqlite, 'application_id');
  const version = readPragma(sqlite, 'user_version');
  const tables = sqlite.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n;
  if (owner === 0 && version === 0 && tables === 0) {
    sqlite.exec(
      'BEGIN IMMEDIATE; CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) ' +
        `WITHOUT ROWID; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT_VERSION}; COMMIT`,
    );
    return;
  }
  if (owner !== APPLICATION_ID) {
    throw new UnusableFile(
      `The database ${path} belongs to another program. Name a file that no other program uses.`,
    );
  }
  if (version !== FORMAT_VERSION) {
    throw new UnusableFile(
      `The database ${path} has format version ${version}, this gateway reads version ${FORMAT_VERSION}. ` +
        'Start the gateway that wrote it, or name another file.',
    );
  }
}

function readPragma(sqlite: DatabaseSync, name: string): number {
  return Number(Object.values(sqlite.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

function readWrite(sqlite: DatabaseSync, path: string): Database {
  const selectOne = sqlite.prepare('SELECT value, crc FROM kv WHERE key = ?');
  const selectRising = sqlite.prepare(
    'SELECT key, value, crc FROM kv WHERE key >= ? AND key < ? ORDER BY key LIMIT ?',
  );
  const selectFalling = sqlite.prepare(
    'SELECT key, value, crc FROM kv WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT ?',
  );
  const selectToEnd = sqlite.prepare('SELECT key, value, crc FROM kv WHERE key >= ? ORDER BY key LIMIT ?');

  function requireIntact(key: string, row: Record<string, unknown>): string {
    const value = row.value;
    if (typeof value === 'string' && row.crc === checksum(key, value)) return value;
    throw new Error(`the value under "${key}" in ${path} is damaged: its CRC-32 does not match`);
  }

  function readRow(row: Record<string, unknown>): Row {
    const key = String(row.key);
    return [key, requireIntact(key, row)];
  }

  /** SQLite's messages about damage name neither the file nor the key. */
  function read<T>(key: string, select: () => T): T {
    try {
      return select();
    } catch (error) {
      throw new Error(`the rows at "${key}" in ${path} can't be read (${messageOf(error)})`, {
        cause: error,
      });
    }
  }

  return {
    get(key) {
      const row = read(key, () => selectOne.get(key));
      return row && requireIntact(key, row);
    },
    scan(from, to, limit, reverse) {
      const select = reverse ? selectFalling : selectRising;
      // For one row at most, `get` costs half as much as `all`.
      const found =
        limit > 1
          ? read(from, () => select.all(from, to, limit))
          : [read(from, () => select.get(from, to, limit))].filter((row) => row !== undefined);
      const rows = found.map(readRow);
      if (!areInOrder(rows, from, to, reverse)) {
        throw new Error(`the rows from "${from}" to "${to}" in ${path} are damaged: they are out of order`);
      }
      return rows;
    },
    scanToEnd: (from, limit) => read(from, () => selectToEnd.all(from, limit)).map(readRow),
    ...createWrites(sqlite, path),
    close() {
      if (sqlite.isOpen) sqlite.close();
    },
  };
}

function createWrites(sqlite: DatabaseSync, path: string): Pick<Database, 'apply' | 'checkpoint'> {
  const upsertOne = sqlite.prepare(writeUpsert(1));
  const upsertMany = sqlite.prepare(writeUpsert(ROWS_PER_STATEMENT));
  const remove = sqlite.prepare('DELETE FROM kv WHERE key = ?');

  /** Rows in the order of their keys, many at once, take a seventh less than one by one. */
  function upsert(rows: readonly Row[]): void {
    let from = 0;
    for (; from + ROWS_PER_STATEMENT <= rows.length; from += ROWS_PER_STATEMENT) {
      upsertMany.run(...rows.slice(from, from + ROWS_PER_STATEMENT).flatMap(parametersOf));
    }
    for (const row of rows.slice(from)) upsertOne.run(...parametersOf(row));
  }

  return {
    apply(sets, deletes) {
      sqlite.exec('BEGIN IMMEDIATE');
      try {
        upsert([...sets].sort(compareKeys));
        for (const key of deletes) remove.run(key);
        sqlite.exec('COMMIT');
      } catch (error) {
        if (sqlite.isTransaction) sqlite.exec('ROLLBACK');
        throw new Error(`${path} can't be written (${messageOf(error)})`, { cause: error });
      }
    },
    checkpoint() {
      try {
        sqlite.exec('PRAGMA wal_checkpoint(PASSIVE)');
      } catch {
        // As after a commit: the next one tries again, and a disk that fails is noticed by a commit.
      }
    },
  };
}

/** The statement that writes so many rows. */
function writeUpsert(rows: number): string {
  const values = Array.from({ length: rows }, () => '(?, ?, ?)').join(', ');
  return (
    `INSERT INTO kv (key, value, crc) VALUES ${values} ` +
    'ON CONFLICT (key) DO UPDATE SET value = excluded.value, crc = excluded.crc'
  );
}

function parametersOf([key, value]: Row): [key: string, value: string, crc: number] {
  return [key, value, checksum(key, value)];
}

function compareKeys([a]: Row, [b]: Row): number {
  return a < b ? -1 : 1;
}

/** A damaged B-tree can lead to the same rows twice, or to rows outside the range. */
function areInOrder(rows: readonly Row[], from: string, to: string, reverse: boolean): boolean {
  const keys = rows.map(([key]) => key);
  const rising = reverse ? keys.reverse() : keys;
  const [first, last] = [rising[0], rising.at(-1)];
  if (first === undefined || last === undefined) return true;
  return (
    !isBefore(first, from) &&
    isBefore(last, to) &&
    rising.every((key, index) => index === 0 || isBefore(rising[index - 1] ?? '', key))
  );
}

/** The file orders keys by UTF-8, which differs from JavaScript's order for characters above U+FFFF. */
function isBefore(a: string, b: string): boolean {
  return a !== b && (a < b || Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0);
}

function checksum(key: string, value: string): number {
  return crc32(value, crc32(key));
}
