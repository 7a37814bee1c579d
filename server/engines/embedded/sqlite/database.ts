/**
 * One SQLite file as an ordered map of text to text. All calls are synchronous.
 *
 * Promises
 * - The file names the program it belongs to and its format version; any other file is refused with an error
 *   that says what to do. `file-format.ts` has the tables.
 * - Each value has a CRC-32 over key and value. A damaged value is an error that names the key, never a wrong
 *   value.
 * - `apply` is one transaction, and it is on disk (WAL, synchronous FULL) when `apply` returns.
 */
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { messageOf } from '../../../async/error-message.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { StoreDamaged } from '../../../ports/store.ts';
import type { Rows, WritableRows } from '../storage/keyv-adapter.ts';
import type { Row } from '../storage/ordered-storage.ts';
import {
  advanceIdentity,
  allowLargeValues,
  isApart,
  prepareFormat,
  readFileHead,
  requireFormat,
  UnusableFile,
} from './file-format.ts';
import { requireOneName } from './lock.ts';
import { cutBehindIndex, repairLog, requireDatabase } from './write-ahead-log.ts';

/** How long a read waits for the writer's rare exclusive locks (recovery of the log, the last checkpoint). */
const BUSY_WAIT_MS = 250;
/** Large enough for the inner pages of a large file, so that an uncached read costs about one page. */
const READER_CACHE_KIB = 32_768;
/**
 * A commit that leaves this many pages in the log, 32 MB, moves it into the database before it returns. That
 * takes as long as many commits, so it is rare; and a page that was written often is moved once.
 */
const CHECKPOINT_PAGES = 8_000;
const SHORT_CHECKPOINT_PAGES = 1_000;
/** How many rows one statement writes. */
const ROWS_PER_STATEMENT = 16;

export type Reader = Rows & {
  /**
   * At most `limit` rows from `from` to the end of the file, in its order. A bound would end this before a
   * damaged key that compares as larger than the bound.
   */
  scanToEnd(from: string, limit: number): readonly Row[];
  /** How many bytes of the file are free for what is written next. */
  freeBytes(): number;
};

/** Writes and removes in one transaction. */
export type Database = Reader &
  WritableRows & {
    /** Moves the log into the database now. A failure changes nothing: the log keeps what it has. */
    checkpoint(): void;
    /** Whether the log is moved after an eighth of the usual pages, as on a disk that is nearly full. */
    keepLogShort(isShort: boolean): void;
  };

/**
 * Opens a file for reading and writing, and creates it if necessary. `isClaimed`:
 * `claimDatabase()` has checked it, and connections of this process may have it open.
 */
export function openDatabase(path: string, isClaimed = false): Database {
  return openChecked(path, () => {
    repairLog(path, isClaimed);
    const sqlite = new DatabaseSync(path, { timeout: BUSY_WAIT_MS });
    try {
      sqlite.exec('PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY');
      prepareFormat(sqlite, path);
      // After the check of the format: this changes the file, and a file of another program must not change.
      sqlite.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      cutBehindIndex(path, countLogFrames(sqlite));
      return { ...createReader(sqlite, path), ...createWrites(sqlite, path) };
    } catch (error) {
      sqlite.close();
      throw error;
    }
  });
}

/**
 * Whether a database is a gateway's, or still to be created: its files may be changed. Throws where the path
 * leads to a folder, or to a file that is no database, before anything is written beside it.
 */
export function isOwnDatabase(path: string): boolean {
  return openChecked(path, () => {
    const head = requireDatabase(path);
    if (head?.isSqlite === false) throw new Error('file is not a database');
    return head?.isOfGateway ?? true;
  });
}

/**
 * Prepares a file for its first use by this process, which must hold its lock: repairs the journal, and
 * rejects when the file can be reached under another name. Leaves the file of another program alone.
 */
export async function claimDatabase(path: string, deps: { clock: Clock; log: Log }): Promise<void> {
  repairLog(path);
  if (readFileHead(path)?.isOfGateway) await requireOneName(path, deps);
}

/**
 * Opens a read-only connection; the file must have been opened for writing before. `cacheKib` of its pages
 * are kept in memory.
 */
export function openReader(path: string, cacheKib = READER_CACHE_KIB): Reader {
  return openChecked(path, () => {
    const sqlite = new DatabaseSync(path, { readOnly: true, timeout: BUSY_WAIT_MS });
    try {
      requireFormat(sqlite, path);
      sqlite.exec(`PRAGMA cache_size = -${cacheKib}`);
      return createReader(sqlite, path);
    } catch (error) {
      sqlite.close();
      throw error;
    }
  });
}

function openChecked<T>(path: string, open: () => T): T {
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

function createReader(sqlite: DatabaseSync, path: string): Reader {
  const rows =
    'SELECT key, coalesce(large.value, kv.value) AS value, crc FROM kv LEFT JOIN large ON large.id = large_id';
  const selectOne = sqlite.prepare(`${rows} WHERE key = ?`);
  const selectRising = sqlite.prepare(`${rows} WHERE key >= ? AND key < ? ORDER BY key LIMIT ?`);
  const selectFalling = sqlite.prepare(`${rows} WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT ?`);
  const selectToEnd = sqlite.prepare(`${rows} WHERE key >= ? ORDER BY key LIMIT ?`);

  function requireIntact(key: string, row: Record<string, unknown>): string {
    const value = row.value;
    if (typeof value === 'string' && row.crc === checksum(key, value)) return value;
    throw new StoreDamaged(`the value under "${key}" in ${path} is damaged: its CRC-32 does not match`, key);
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
        throw new StoreDamaged(
          `the rows from "${from}" to "${to}" in ${path} are damaged: they are out of order`,
        );
      }
      return rows;
    },
    freeBytes: () => readNumber(sqlite, 'freelist_count') * readNumber(sqlite, 'page_size'),
    scanToEnd: (from, limit) => read(from, () => selectToEnd.all(from, limit)).map(readRow),
    close() {
      if (sqlite.isOpen) sqlite.close();
    },
  };
}

function createWrites(
  sqlite: DatabaseSync,
  path: string,
): Pick<Database, 'apply' | 'checkpoint' | 'keepLogShort'> {
  const upsertOne = sqlite.prepare(writeUpsert(1));
  const upsertMany = sqlite.prepare(writeUpsert(ROWS_PER_STATEMENT));
  const insertLarge = sqlite.prepare('INSERT INTO large (value) VALUES (?)');
  const remove = sqlite.prepare('DELETE FROM kv WHERE key = ?');
  const countFrames = sqlite.prepare(COUNT_LOG_FRAMES);

  /** Whether the next transaction may be the first of a log: all that the log has is in the database. */
  function beginsLog(): boolean {
    const { log, checkpointed } = countFrames.get() ?? {};
    return Number(log) >= 0 && log === checkpointed;
  }

  /** The parameters of a row; a value that stands apart is written now. */
  function storeValue([key, value]: Row): RowParameters {
    const crc = checksum(key, value);
    if (!isApart(key, value)) return [key, value, crc, null];
    allowLargeValues(sqlite);
    return [key, '', crc, insertLarge.run(value).lastInsertRowid];
  }

  /** Rows in the order of their keys, many at once, take a seventh less than one by one. */
  function upsert(rows: readonly Row[]): void {
    let from = 0;
    for (; from + ROWS_PER_STATEMENT <= rows.length; from += ROWS_PER_STATEMENT) {
      upsertMany.run(...rows.slice(from, from + ROWS_PER_STATEMENT).flatMap(storeValue));
    }
    for (const row of rows.slice(from)) upsertOne.run(...storeValue(row));
  }

  return {
    apply(sets, deletes) {
      const isFirst = beginsLog();
      sqlite.exec('BEGIN IMMEDIATE');
      try {
        if (isFirst) advanceIdentity(sqlite);
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
    keepLogShort(isShort) {
      const pages = isShort ? SHORT_CHECKPOINT_PAGES : CHECKPOINT_PAGES;
      sqlite.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
    },
  };
}

/**
 * How many frames the log has by SQLite's index, and how many of them are in the database; -1 without a log.
 * It takes 3 µs. A version of SQLite that does not know NOOP moves the log meanwhile. The index itself must
 * not be opened here: closing it would end its locks.
 */
const COUNT_LOG_FRAMES = 'PRAGMA wal_checkpoint(NOOP)';

function countLogFrames(sqlite: DatabaseSync): number {
  return Number(sqlite.prepare(COUNT_LOG_FRAMES).get()?.log ?? -1);
}

function readNumber(sqlite: DatabaseSync, pragma: string): number {
  return Number(Object.values(sqlite.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
}

/** The statement that writes this many rows. */
function writeUpsert(rows: number): string {
  const values = Array.from({ length: rows }, () => '(?, ?, ?, ?)').join(', ');
  return (
    `INSERT INTO kv (key, value, crc, large_id) VALUES ${values} ON CONFLICT (key) ` +
    'DO UPDATE SET value = excluded.value, crc = excluded.crc, large_id = excluded.large_id'
  );
}

type RowParameters = [key: string, value: string, crc: number, large_id: number | bigint | null];

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
