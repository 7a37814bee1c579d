/**
 * Copies a database while a gateway uses it. The copy holds everything that was acknowledged before it began,
 * and nothing half: SQLite copies one moment of the file. Meanwhile commits go on; the log beside the
 * database grows until the copy is complete.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../../async/error-message.ts';
import { renewIdentity } from './file-format.ts';
import { findDamage } from './inspection.ts';
import { requireDatabase } from './write-ahead-log.ts';

/** How long it waits for the rare locks of the gateway's writer. */
const BUSY_WAIT_MS = 10_000;

/**
 * Copies the database to the file `copy`, which must not exist, and resolves with its size. The copy is
 * checked, row by row, and on the disk before it gets that name. Rejects with an error that says what to do;
 * then there is no copy.
 */
export async function copyDatabase(path: string, copy: string): Promise<{ readonly bytes: number }> {
  requireDatabase(path);
  if (!existsSync(path)) throw new Error(`There is no database ${path}: STORE names the one to copy.`);
  if (existsSync(copy)) throw new Error(`${copy} exists already: name a new file.`);
  const partial = `${copy}.partial`;
  rmSync(partial, { force: true });
  try {
    copyMoment(path, partial);
    const damage = await findDamage(partial);
    if (damage !== undefined) throw new Error(`The database can't be copied: ${damage}.`);
    syncToDisk(partial);
    renameSync(partial, copy);
    syncToDisk(dirname(copy));
    return { bytes: statSync(copy).size };
  } finally {
    rmSync(partial, { force: true });
  }
}

function copyMoment(path: string, copy: string): void {
  const sqlite = new DatabaseSync(path, { readOnly: true, timeout: BUSY_WAIT_MS });
  try {
    sqlite.prepare('VACUUM INTO ?').run(copy);
  } catch (error) {
    throw new Error(`${path} can't be copied to ${copy} (${messageOf(error)}).`, { cause: error });
  } finally {
    sqlite.close();
  }
  const copied = new DatabaseSync(copy);
  try {
    renewIdentity(copied);
  } finally {
    copied.close();
  }
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
