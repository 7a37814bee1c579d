/**
 * The identity of the file: which program it belongs to, and the version of its tables. Both are in the
 * header of a SQLite file. They are read without SQLite, which would already change a file of another
 * program.
 */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { SCHEMA } from './schema.ts';

/** Marks a SQLite file as the gateway's: "TGW2" in ASCII. */
const APPLICATION_ID = 0x54475732;
/** The version of the tables that this gateway writes and reads. Other versions are refused. */
const VERSION = 1;
/** The header begins with this text and a zero byte. */
const MAGIC = 'SQLite format 3';
/** The offsets of the version and the application id, in bytes. */
const VERSION_AT = 60;
const APPLICATION_ID_AT = 68;
const HEADER_BYTES = 100;

/**
 * Whether the database exists; false if it must still be created. Throws for a folder, a file of another
 * program, and a file of another version.
 */
export function requireOwnFile(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return false;
  if (!found.isFile()) throw new Error(describeNoFile(path, found.isDirectory()));
  // The creation of this file was cut short. SQLite undoes it when it opens the file.
  if (found.size === 0 || existsSync(`${path}-journal`)) return false;
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(path, 'r');
  try {
    readSync(descriptor, header, 0, HEADER_BYTES, 0);
  } finally {
    closeSync(descriptor);
  }
  if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw new Error(`${path} is not a database. Name a file that no other program uses: ${EXAMPLE}.`);
  }
  requireIdentity(path, header.readUInt32BE(APPLICATION_ID_AT), header.readUInt32BE(VERSION_AT));
  return true;
}

/** Creates all tables if the file has none. Otherwise requires tables of this version. */
export function createTables(sqlite: DatabaseSync, path: string): void {
  const tables = sqlite.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n;
  if (tables !== 0) {
    requireIdentity(path, readPragma(sqlite, 'application_id'), readPragma(sqlite, 'user_version'));
    return;
  }
  const identity = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}`;
  sqlite.exec(`BEGIN IMMEDIATE; ${SCHEMA}; ${identity}; COMMIT`);
}

function requireIdentity(path: string, applicationId: number, version: number): void {
  if (applicationId !== APPLICATION_ID) {
    throw new Error(
      `The database ${path} belongs to another program. Name a file that no other program uses: ${EXAMPLE}.`,
    );
  }
  if (version === VERSION) return;
  throw new Error(
    `The database ${path} has format version ${version}, this gateway reads version ${VERSION}. Start the ` +
      'gateway that wrote it; to go on with this one, let that one end its tasks, and name another file.',
  );
}

const EXAMPLE = 'STORE=sqlite:FILE';

function describeNoFile(path: string, isFolder: boolean): string {
  return isFolder
    ? `The database ${path} is a folder. Name a file in it: STORE=sqlite:${join(path, 'gateway.db')}.`
    : `The database ${path} is not a file that can be stored in. Name another one: ${EXAMPLE}.`;
}

function readPragma(sqlite: DatabaseSync, name: string): number {
  return Number(Object.values(sqlite.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}
