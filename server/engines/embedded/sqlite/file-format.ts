/**
 * The file's format: to which program it belongs, its version, and its tables.
 *
 *   kv      key, value and CRC-32 of each row, in the order of the keys
 *   large   the values that are too long for a row of `kv`, which then names theirs in `large_id`
 *
 * SQLite compares whole rows when it looks for a key: with long values in `kv` it would read some of them,
 * with all their pages, for each row that it finds or writes. So what a row has no room for within its page
 * stands apart.
 *
 * Versions: a file begins with version 1, which an older gateway can read, and has version 2 from its first
 * large value on. The version is the low byte of SQLite's `user_version`; the rest of it is the identity of
 * the database, a random number, so that the log of one database is never read into another.
 */
import { randomInt } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';

/** Marks a SQLite file as one of the gateway: "TGW1" in ASCII. */
const APPLICATION_ID = 0x54475731;
/** Where the header of a SQLite file holds the application id, in bytes. */
const APPLICATION_ID_OFFSET = 68;
/** Where it holds the user version. */
const USER_VERSION_OFFSET = 60;
const VERSIONS = 2 ** 8;
/** Identities are below this: a user version has 31 bits beside its sign. */
const IDENTITIES = 2 ** 23;
/** All values are in `kv`. */
const VERSION_SMALL = 1;
/** Some values are in `large`. */
const VERSION_LARGE = 2;
/** How much of the first page is read. */
const HEAD_BYTES = APPLICATION_ID_OFFSET + 4;
/** A row of a leaf has at most 1,002 bytes in its page, its header included; characters take one or more. */
const ROW_CHARS_MAX = 960;

/** An intact file that this gateway must not use. */
export class UnusableFile extends Error {}

/** What is said of a file of another program. */
export function describeForeign(path: string): string {
  return `The database ${path} belongs to another program. Name a file that no other program uses.`;
}

/** Whether the value stands in `large`. */
export function isApart(key: string, value: string): boolean {
  return key.length + value.length > ROW_CHARS_MAX;
}

/** What the first page of a database says of it. */
export type FileHead = {
  readonly isSqlite: boolean;
  readonly isOfGateway: boolean;
  /** A random number: no two databases of gateways have the same. */
  readonly identity: number;
};

/** Reads the beginning of the first page. */
export function readHead(page: Buffer): FileHead {
  const isSqlite = page.length >= HEAD_BYTES && page.toString('latin1', 0, 15) === 'SQLite format 3';
  if (!isSqlite) return { isSqlite, isOfGateway: false, identity: 0 };
  const isOfGateway = page.readUInt32BE(APPLICATION_ID_OFFSET) === APPLICATION_ID;
  const identity = Math.floor(page.readUInt32BE(USER_VERSION_OFFSET) / VERSIONS);
  return { isSqlite, isOfGateway, identity };
}

/**
 * Reads a file's head without SQLite, which would already change the files of another program; undefined
 * where the file is missing or empty.
 */
export function readFileHead(path: string): FileHead | undefined {
  if (path === ':memory:' || !existsSync(path)) return undefined;
  const head = Buffer.alloc(HEAD_BYTES);
  const descriptor = openSync(path, 'r');
  try {
    const length = readSync(descriptor, head, 0, head.length, 0);
    return length === 0 ? undefined : readHead(head.subarray(0, length));
  } finally {
    closeSync(descriptor);
  }
}

/** Gives a copy an identity of its own: the log of its original is not its log. */
export function renewIdentity(sqlite: DatabaseSync): void {
  sqlite.exec(`PRAGMA user_version = ${randomInt(1, IDENTITIES) * VERSIONS + readVersion(sqlite)}`);
}

/** Creates the tables where they are missing. Throws for a file that this gateway must not use. */
export function prepareFormat(sqlite: DatabaseSync, path: string): void {
  const owner = readPragma(sqlite, 'application_id');
  const version = readVersion(sqlite);
  const tables = sqlite.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n;
  if (owner === 0 && version === 0 && tables === 0) {
    sqlite.exec(
      'BEGIN IMMEDIATE; CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) ' +
        `WITHOUT ROWID; PRAGMA application_id = ${APPLICATION_ID}; ` +
        `PRAGMA user_version = ${randomInt(1, IDENTITIES) * VERSIONS + VERSION_SMALL}; COMMIT`,
    );
  } else if (owner !== APPLICATION_ID) {
    throw new UnusableFile(describeForeign(path));
  } else if (version !== VERSION_SMALL && version !== VERSION_LARGE) {
    throw new UnusableFile(
      `The database ${path} has format version ${version}, this gateway reads version ${VERSION_SMALL} and ` +
        `${VERSION_LARGE}. Start the gateway that wrote it, or name another file.`,
    );
  }
  if (hasLargeTable(sqlite)) return;
  sqlite.exec(
    'BEGIN IMMEDIATE; CREATE TABLE large (id INTEGER PRIMARY KEY, value TEXT NOT NULL); ' +
      'ALTER TABLE kv ADD COLUMN large_id INTEGER; COMMIT',
  );
}

/**
 * Makes the file one with large values, within the transaction that writes the first: a row that is written
 * again or removed takes its large value along. Before it no row pays for looking whether it has one.
 */
export function allowLargeValues(sqlite: DatabaseSync): void {
  if (readVersion(sqlite) === VERSION_LARGE) return;
  const userVersion = readPragma(sqlite, 'user_version') - VERSION_SMALL + VERSION_LARGE;
  const removeOld = 'WHEN old.large_id IS NOT NULL BEGIN DELETE FROM large WHERE id = old.large_id; END';
  sqlite.exec(
    `CREATE TRIGGER large_replaced AFTER UPDATE OF large_id ON kv ${removeOld}; ` +
      `CREATE TRIGGER large_removed AFTER DELETE ON kv ${removeOld}; PRAGMA user_version = ${userVersion}`,
  );
}

/** What to select rows from: a file that only an older gateway has opened has no table of large values. */
export function describeRows(sqlite: DatabaseSync): string {
  return hasLargeTable(sqlite)
    ? 'SELECT key, coalesce(large.value, kv.value) AS value, crc FROM kv LEFT JOIN large ON large.id = large_id'
    : 'SELECT key, value, crc FROM kv';
}

function hasLargeTable(sqlite: DatabaseSync): boolean {
  return sqlite.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'large'").get() !== undefined;
}

function readVersion(sqlite: DatabaseSync): number {
  return readPragma(sqlite, 'user_version') % VERSIONS;
}

function readPragma(sqlite: DatabaseSync, name: string): number {
  return Number(Object.values(sqlite.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}
