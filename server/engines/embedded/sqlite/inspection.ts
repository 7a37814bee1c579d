/**
 * Inspects a whole database file for damage that ordinary reads do not notice: a flipped bit in SQLite's own
 * pages, or in a key, can hide a row, and a row that is not found reads as absent.
 *
 * Promise: it only reads, a slice at a time, and pauses for longer than it works, so that commits are not
 * slowed down.
 */
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../async/error-message.ts';
import { afterKey } from '../storage/row-keys.ts';
import { openReader } from './database.ts';

const ROWS_PER_SLICE = 200;
/** Each page is read once: only the path down to it is worth keeping. */
const CACHE_KIB = 512;
/** The pause after a slice, as a multiple of the time that the slice took. */
const PAUSE_FACTOR = 4;
/**
 * The check of the pages can't be interrupted, and a stop must not wait for it: of a larger file only rows
 * are checked.
 */
const PAGE_CHECK_BYTES_MAX = 512 * 1_024 * 1_024;

/** The kind of an error of SQLite, in the last byte of its code: the disk failed. */
const SQLITE_IOERR = 10;

/**
 * Describes the damage, naming the file; undefined when there is none. Rejects where the disk fails
 * meanwhile, which says nothing of the file.
 */
export async function findDamage(path: string): Promise<string | undefined> {
  try {
    return findPageDamage(path) ?? (await findRowDamage(path));
  } catch (error) {
    if (isDiskError(error)) throw error;
    return messageOf(error);
  }
}

/** Whether SQLite could not read or write, as its error or the cause of an error says. */
export function isDiskError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_IOERR) return true;
  return isDiskError(error.cause);
}

/**
 * SQLite's own check of its pages and of the order of the keys: about 1.5 s a gigabyte. Its quick check does
 * not look at the order, and a key that is out of order hides the rows on one side of it.
 */
function findPageDamage(path: string): string | undefined {
  if (statSync(path).size > PAGE_CHECK_BYTES_MAX) return undefined;
  const sqlite = new DatabaseSync(path, { readOnly: true });
  try {
    const [first] = sqlite.prepare('PRAGMA integrity_check(1)').all();
    const report = String(Object.values(first ?? {})[0]);
    return report === 'ok' ? undefined : `the pages of ${path} are damaged (${report.replaceAll('\n', ' ')})`;
  } catch (error) {
    throw new Error(`the pages of ${path} are damaged (${messageOf(error)})`, { cause: error });
  } finally {
    sqlite.close();
  }
}

/**
 * Checks every row against its CRC-32, which throws at the first damage: about 4 s a gigabyte without the
 * pauses.
 */
async function findRowDamage(path: string): Promise<undefined> {
  const reader = openReader(path, CACHE_KIB);
  try {
    for (let from = ''; ; ) {
      const startMs = performance.now();
      const rows = reader.scanToEnd(from, ROWS_PER_SLICE);
      const last = rows.at(-1);
      if (!last || rows.length < ROWS_PER_SLICE) return undefined;
      from = afterKey(last[0]);
      await sleep((performance.now() - startMs) * PAUSE_FACTOR);
    }
  } finally {
    reader.close();
  }
}
