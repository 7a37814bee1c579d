/**
 * One SQLite file as an ordered map of text to text: opened, checked, read, written; synchronous.
 *
 * Promises: the file says whose it is and which format it has; what is neither is refused with one sentence. Each
 * value carries a CRC-32 over key and value; a damaged one is an error that names the key, never a wrong value.
 * `apply` is one transaction, on disk (WAL, synchronous FULL) when it returns.
 */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { Row } from './ordered-storage.ts';
import { repairLog } from './write-ahead-log.ts';

/** Tells our files from other SQLite files: "TGW1" in ASCII. */
const APPLICATION_ID = 0x54475731;
/** Where SQLite keeps it in the head of a file. */
const APPLICATION_ID_AT = 68;
/** Rises when an older gateway could no longer read what this one writes. */
export const FORMAT_VERSION = 1;
/** How long a read waits for the writer's rare exclusive moments (recovery of the log, its last checkpoint). */
const BUSY_WAIT_MS = 250;
/** Holds the inner pages of a large file, so that a cold read costs about one page. */
const READER_CACHE_KIB = 32_768;

export type Database = {
  get(key: string): string | undefined;
  scan(from: string, to: string, limit: number, reverse: boolean): readonly Row[];
  apply(sets: ReadonlyMap<string, string>, deletes: ReadonlySet<string>): void;
  close(): void;
};

/** Opens a file for reading and writing, creating it if it is not there; `:memory:` keeps everything in memory. */
export function openDatabase(path: string): Database {
  return openChecked(path, () => {
    if (isOurs(path)) repairLog(path);
    const sqlite = new DatabaseSync(path, { timeout: BUSY_WAIT_MS });
    try {
      sqlite.exec('PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY');
      prepareFormat(sqlite, path);
      // Only now: it changes the file, and one that is not ours stays as it is.
      sqlite.exec('PRAGMA journal_mode = WAL');
      return readWrite(sqlite, path);
    } catch (error) {
      sqlite.close();
      throw error;
    }
  });
}

/** Opens a second connection that only reads; the file must have been opened for writing before. */
export function openReader(path: string): Database {
  return openChecked(path, () => {
    const sqlite = new DatabaseSync(path, { readOnly: true, timeout: BUSY_WAIT_MS });
    sqlite.exec(`PRAGMA cache_size = -${READER_CACHE_KIB}`);
    return readWrite(sqlite, path);
  });
}

function openChecked(path: string, open: () => Database): Database {
  try {
    return open();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof UnusableFile) throw error;
    throw new Error(
      `The database ${path} can't be opened (${reason}). Check that the file is intact and that its folder may be ` +
        'written; to start empty, name another file.',
      { cause: error },
    );
  }
}

/** Whether the file itself says so, whoever may have it open: nothing of another program's is touched. */
function isOurs(path: string): boolean {
  if (path === ':memory:' || !existsSync(path)) return false;
  const head = Buffer.alloc(APPLICATION_ID_AT + 4);
  const descriptor = openSync(path, 'r');
  try {
    const length = readSync(descriptor, head, 0, head.length, 0);
    return length === head.length && head.readUInt32BE(APPLICATION_ID_AT) === APPLICATION_ID;
  } finally {
    closeSync(descriptor);
  }
}

/** A file that is intact but not for this program. */
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
      `The database ${path} belongs to another program. Name a file of the gateway's own.`,
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
  const one = sqlite.prepare('SELECT value, crc FROM kv WHERE key = ?');
  const rising = sqlite.prepare(
    'SELECT key, value, crc FROM kv WHERE key >= ? AND key < ? ORDER BY key LIMIT ?',
  );
  const falling = sqlite.prepare(
    'SELECT key, value, crc FROM kv WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT ?',
  );
  const put = sqlite.prepare(
    'INSERT INTO kv (key, value, crc) VALUES (?, ?, ?) ' +
      'ON CONFLICT (key) DO UPDATE SET value = excluded.value, crc = excluded.crc',
  );
  const remove = sqlite.prepare('DELETE FROM kv WHERE key = ?');

  function check(key: string, row: Record<string, unknown>): string {
    const value = row.value;
    if (typeof value === 'string' && row.crc === checksum(key, value)) return value;
    throw new Error(`the value under "${key}" in ${path} is damaged: its CRC-32 does not fit`);
  }

  function readRow(row: Record<string, unknown>): Row {
    const key = String(row.key);
    return [key, check(key, row)];
  }

  /** SQLite's own words for damage say neither which file nor what was looked for. */
  function read<T>(what: string, select: () => T): T {
    try {
      return select();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`what stands under "${what}" in ${path} can't be read (${reason})`, { cause: error });
    }
  }

  return {
    get(key) {
      const row = read(key, () => one.get(key));
      return row && check(key, row);
    },
    scan(from, to, limit, reverse) {
      const select = reverse ? falling : rising;
      // For one row, or to see that there is none, this costs half.
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
    apply(sets, deletes) {
      sqlite.exec('BEGIN IMMEDIATE');
      try {
        for (const [key, value] of sets) put.run(key, value, checksum(key, value));
        for (const key of deletes) remove.run(key);
        sqlite.exec('COMMIT');
      } catch (error) {
        if (sqlite.isTransaction) sqlite.exec('ROLLBACK');
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`${path} can't be written (${reason})`, { cause: error });
      }
    },
    close() {
      if (sqlite.isOpen) sqlite.close();
    },
  };
}

/** A damaged tree can lead to the same rows twice, or to others. */
function areInOrder(rows: readonly Row[], from: string, to: string, reverse: boolean): boolean {
  const keys = rows.map(([key]) => key);
  const rising = reverse ? keys.reverse() : keys;
  const [first, last] = [rising[0], rising.at(-1)];
  if (first === undefined || last === undefined) return true;
  return (
    !isBefore(first, from) &&
    isBefore(last, to) &&
    rising.every((key, at) => at === 0 || isBefore(rising[at - 1] ?? '', key))
  );
}

/** The order of the file is that of UTF-8, which is another than that of JavaScript behind U+FFFF. */
function isBefore(one: string, other: string): boolean {
  return one !== other && (one < other || Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0);
}

function checksum(key: string, value: string): number {
  return crc32(value, crc32(key));
}
