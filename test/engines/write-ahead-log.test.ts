/**
 * The log of a database after any end of its process: read to its last whole transaction, refused only when
 * damaged.
 */
import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { repairLog } from '../../server/engines/embedded/sqlite/write-ahead-log.ts';
import { createTestFolder } from './embedded-under-test.ts';
import { createRandom, drawSeed } from './store-under-test.ts';

const COMMITS = 150;
const LOG_HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4_096;

let testFolder: ReturnType<typeof createTestFolder>;
beforeEach(() => {
  testFolder = createTestFolder();
});
afterEach(() => testFolder.remove());

/** A database whose log is reused after every few pages. */
function openWriter(pagesPerUse: number): DatabaseSync {
  const sqlite = new DatabaseSync(testFolder.path);
  sqlite.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${pagesPerUse}`,
  );
  sqlite.exec('CREATE TABLE t (n INTEGER PRIMARY KEY, padding TEXT)');
  return sqlite;
}

/** Copies database and log as a killed process would leave them. */
function takeCopy(): string {
  const copy = join(testFolder.folder, 'copy.db');
  copyFileSync(testFolder.path, copy);
  copyFileSync(`${testFolder.path}-wal`, `${copy}-wal`);
  return copy;
}

function readLast(path: string): number {
  const sqlite = new DatabaseSync(path);
  try {
    return Number(sqlite.prepare('SELECT max(n) AS last FROM t').get()?.last);
  } finally {
    sqlite.close();
  }
}

test('the log of a killed process is never refused, however often it was reused, and has every transaction', () => {
  const seed = drawSeed();
  const random = createRandom(seed);
  const sqlite = openWriter(12);
  for (let n = 1; n <= COMMITS; n += 1) {
    sqlite.exec(`INSERT INTO t VALUES (${n}, '${'x'.repeat(random.next(30_000))}')`);
    const copy = takeCopy();
    expect(() => repairLog(copy), `seed ${seed}, commit ${n}`).not.toThrow();
    expect(readLast(copy), `seed ${seed}, commit ${n}`).toBe(n);
  }
  sqlite.close();
});

test('a log with a torn end is read up to that end', () => {
  const seed = drawSeed();
  const random = createRandom(seed);
  const sqlite = openWriter(1_000);
  for (let n = 1; n <= 20; n += 1) sqlite.exec(`INSERT INTO t VALUES (${n}, '${'x'.repeat(9_000)}')`);
  const before = readFileSync(`${testFolder.path}-wal`).length;
  sqlite.exec(`INSERT INTO t VALUES (21, '${'x'.repeat(40_000)}')`);
  const end = readFileSync(`${testFolder.path}-wal`).length;
  for (let times = 0; times < 40; times += 1) {
    const copy = takeCopy();
    const offset = before + random.next(end - before);
    truncateSync(`${copy}-wal`, offset);
    expect(() => repairLog(copy), `seed ${seed}, cut at ${offset}`).not.toThrow();
    expect(readLast(copy)).toBe(20);
  }
  sqlite.close();
});

test('frames of a failed transaction after the end of a log are cut off', () => {
  const sqlite = openWriter(1_000);
  sqlite.exec("INSERT INTO t VALUES (1, 'x')");
  const copy = takeCopy();
  const log = readFileSync(`${copy}-wal`);
  const staleFrame = log.subarray(LOG_HEADER_BYTES, LOG_HEADER_BYTES + FRAME_BYTES);
  writeFileSync(`${copy}-wal`, Buffer.concat([log, Buffer.from(staleFrame).fill(0, 4, 8)]));
  repairLog(copy);
  expect(readFileSync(`${copy}-wal`)).toEqual(log);
  expect(readLast(copy)).toBe(1);
  sqlite.close();
});

test('a log with a damaged frame or header is refused, naming the byte and the remedy, and is not changed', () => {
  const sqlite = openWriter(1_000);
  for (let n = 1; n <= 9; n += 1) sqlite.exec(`INSERT INTO t VALUES (${n}, 'x')`);
  for (const offset of [
    0,
    3,
    9,
    17,
    25,
    LOG_HEADER_BYTES,
    LOG_HEADER_BYTES + 5,
    LOG_HEADER_BYTES + 9,
    3_000,
  ]) {
    const copy = takeCopy();
    const log = readFileSync(`${copy}-wal`);
    log[offset] = (log[offset] ?? 0) ^ 1;
    writeFileSync(`${copy}-wal`, log);
    expect(() => repairLog(copy), `byte ${offset}`).toThrow(
      /the log .*copy\.db-wal is damaged at byte \d+.* Restore .*truncate -s \d+ '.*copy\.db-wal'/,
    );
    expect(readFileSync(`${copy}-wal`)).toEqual(log);
  }
  sqlite.close();
});

test('a missing or empty log needs no repair', () => {
  repairLog(testFolder.path);
  writeFileSync(`${testFolder.path}-wal`, '');
  repairLog(testFolder.path);
  expect(readFileSync(`${testFolder.path}-wal`)).toHaveLength(0);
  expect(existsSync(testFolder.path)).toBe(false);
});
