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
 * The version is the low byte of SQLite's `user_version`; a file whose version this gateway does not read is
 * refused and stays as it is. The rest of it is the identity of the database: a random number, and one more
 * with each log that begins. The first transaction of a log writes it, so the log of another database, or of
 * a later state of this one, is never read into a file.
 *
 * There is a new version where older gateways would read the file wrongly, or drop a part of a row when they
 * write it again. A gateway of the new version raises that of the file when it first opens it; from then on
 * older ones refuse the file. Rows stay as they are: a field that they lack has a default. For example, if
 * version 4 adds a kind of row that ends with its task, a gateway of version 3 must not trim that task.
 */
import { randomInt } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
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

/** The versions of a gateway. */
type Versions = {
  /** The one of the files that it writes. */
  readonly written: number;
  /** The oldest that it opens; it opens all between the two. */
  readonly oldest: number;
};

export const VERSIONS_OF_THIS: Versions = { written: 4, oldest: 4 };
/** How much of the first page is read. */
const HEAD_BYTES = APPLICATION_ID_OFFSET + 4;
/** A row of a leaf has at most 1,002 bytes in its page, its header included; characters take one or more. */
const ROW_CHARS_MAX = 960;

/** An intact file that this gateway must not use. */
export class UnusableFile extends Error {}

/** The message about a file of another program. */
export function describeForeign(path: string): string {
  return `The database ${path} belongs to another program. Name a file that no other program uses.`;
}

function describeNoFile(path: string, isFolder: boolean): string {
  return isFolder
    ? `The database ${path} is a folder. Name a file in it: STORE=sqlite:${join(path, 'gateway.db')}.`
    : `The database ${path} is not a file that can be stored in. Name another one: STORE=sqlite:FILE.`;
}

/** Whether the value stands in `large`. */
export function isApart(key: string, value: string): boolean {
  return key.length + value.length > ROW_CHARS_MAX;
}

/** The first page of a database. */
export type FileHead = {
  readonly isSqlite: boolean;
  readonly isOfGateway: boolean;
  /** No two databases of gateways have the same, nor a database before and after a log. */
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
 * where the file is missing or empty. Throws where the path is that of a folder or a device.
 */
export function readFileHead(path: string): FileHead | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return undefined;
  if (!found.isFile()) throw new UnusableFile(describeNoFile(path, found.isDirectory()));
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

/**
 * Gives the next identity to a database whose log begins, within the first transaction of that log; where its
 * format is raised, also the version that is higher by so much.
 */
export function advanceIdentity(sqlite: DatabaseSync, raisedBy = 0): void {
  const before = readPragma(sqlite, 'user_version');
  sqlite.exec(`PRAGMA user_version = ${(before + VERSIONS + raisedBy) % (IDENTITIES * VERSIONS)}`);
}

/** Whether a file can be the one beneath a log in which the database had these identities. */
export function isBeneath(
  { identity }: FileHead,
  [first, last]: readonly [first: number, last: number],
): boolean {
  const countFrom = (to: number): number => (to - first + 1 + IDENTITIES) % IDENTITIES;
  return countFrom(identity) <= countFrom(last);
}

/**
 * Creates the tables where they are missing, and raises an older version. Throws for a file that this gateway
 * must not use. `versions`: tests give those of a later gateway.
 */
export function prepareFormat(sqlite: DatabaseSync, path: string, versions = VERSIONS_OF_THIS): void {
  const tables = sqlite.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n;
  const isNew = tables === 0 && readPragma(sqlite, 'application_id') === 0 && readVersion(sqlite) === 0;
  if (isNew) {
    sqlite.exec(
      'BEGIN IMMEDIATE; CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL, ' +
        'large_id INTEGER) WITHOUT ROWID; CREATE TABLE large (id INTEGER PRIMARY KEY, value TEXT NOT NULL); ' +
        `PRAGMA application_id = ${APPLICATION_ID}; ` +
        `PRAGMA user_version = ${randomInt(1, IDENTITIES) * VERSIONS + versions.written}; COMMIT`,
    );
    return;
  }
  requireFormat(sqlite, path, versions);
  const raisedBy = versions.written - readVersion(sqlite);
  // It may be the first transaction of a log.
  if (raisedBy > 0) advanceIdentity(sqlite, raisedBy);
}

/** Throws for a file of another program, and for one of a version that this gateway does not read. */
export function requireFormat(sqlite: DatabaseSync, path: string, versions = VERSIONS_OF_THIS): void {
  if (readPragma(sqlite, 'application_id') !== APPLICATION_ID) throw new UnusableFile(describeForeign(path));
  const version = readVersion(sqlite);
  const { oldest, written } = versions;
  if (version >= oldest && version <= written) return;
  const readable = oldest === written ? `version ${written}` : `versions ${oldest} to ${written}`;
  throw new UnusableFile(
    `The database ${path} has format version ${version}, this gateway reads ${readable}. Start the ` +
      'gateway that wrote it; to go on with this one, let that one end its tasks, and name another file.',
  );
}

/**
 * Makes the file one with large values, within the transaction that writes the first: a row that is written
 * again or removed takes its large value along. Before it no row pays for looking whether it has one.
 */
export function allowLargeValues(sqlite: DatabaseSync): void {
  if (sqlite.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'large_removed'").get()) return;
  const removeOld = 'WHEN old.large_id IS NOT NULL BEGIN DELETE FROM large WHERE id = old.large_id; END';
  sqlite.exec(
    `CREATE TRIGGER large_replaced AFTER UPDATE OF large_id ON kv ${removeOld}; ` +
      `CREATE TRIGGER large_removed AFTER DELETE ON kv ${removeOld}`,
  );
}

function readVersion(sqlite: DatabaseSync): number {
  return readPragma(sqlite, 'user_version') % VERSIONS;
}

function readPragma(sqlite: DatabaseSync, name: string): number {
  return Number(Object.values(sqlite.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}
