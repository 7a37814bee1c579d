/**
 * Looks through a whole database file for damage that reading alone does not notice: a flipped bit in SQLite's own
 * pages, or in a key, can hide a row, and a row that is not found reads as absent.
 *
 * Promise: it only reads, a slice at a time and with longer pauses than work, so that commits don't feel it.
 */
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { openReader } from './database.ts';
import { afterKey } from './row-keys.ts';

const SLICE = 1_000;
/** It rests so many times as long as it worked. */
const REST = 4;
/** The look at the pages can't be interrupted, and a stop must not wait for it: a larger file is left to its rows. */
const PAGES_BYTES_MAX = 512 * 1_024 * 1_024;

/** Says what is damaged, naming the file; undefined: nothing is. */
export async function findDamage(path: string): Promise<string | undefined> {
  try {
    return checkPages(path) ?? (await checkRows(path));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** SQLite's own look at its pages: about 0.7 s a gigabyte. */
function checkPages(path: string): string | undefined {
  if (statSync(path).size > PAGES_BYTES_MAX) return undefined;
  const sqlite = new DatabaseSync(path, { readOnly: true });
  try {
    const [first] = sqlite.prepare('PRAGMA quick_check(1)').all();
    const word = String(Object.values(first ?? {})[0]);
    return word === 'ok' ? undefined : `the pages of ${path} are damaged (${word.replaceAll('\n', ' ')})`;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the pages of ${path} are damaged (${reason})`, { cause: error });
  } finally {
    sqlite.close();
  }
}

/** Every key and value against its CRC-32: about 4 s a gigabyte, rests not counted. */
async function checkRows(path: string): Promise<undefined> {
  const reader = openReader(path);
  try {
    for (let from = ''; ; ) {
      const startMs = performance.now();
      const rows = reader.scan(from, '\u{10ffff}', SLICE, false);
      const last = rows.at(-1);
      if (!last || rows.length < SLICE) return undefined;
      from = afterKey(last[0]);
      await sleep((performance.now() - startMs) * REST);
    }
  } finally {
    reader.close();
  }
}
