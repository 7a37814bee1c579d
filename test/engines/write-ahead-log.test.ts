/** The log of a database as any end may leave it: read to its last whole transaction, and refused only when damaged. */
import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { repairLog } from '../../server/engines/embedded/sqlite/write-ahead-log.ts';
import { makeFolder } from './embedded-under-test.ts';
import { createChance, drawSeed } from './store-under-test.ts';

const COMMITS = 150;
const LOG_HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4_096;

let place: ReturnType<typeof makeFolder>;
beforeEach(() => {
  place = makeFolder();
});
afterEach(() => place.remove());

/** A database whose log is emptied every few pages, so that it is used again and again. */
function openWriter(pagesPerUse: number): DatabaseSync {
  const sqlite = new DatabaseSync(place.path);
  sqlite.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${pagesPerUse}`,
  );
  sqlite.exec('CREATE TABLE t (n INTEGER PRIMARY KEY, filling TEXT)');
  return sqlite;
}

/** Copies database and log as a killed process leaves them. */
function takeCopy(): string {
  const copy = join(place.folder, 'copy.db');
  copyFileSync(place.path, copy);
  copyFileSync(`${place.path}-wal`, `${copy}-wal`);
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

test('of a killed process is never refused, however often it was used, and shows every transaction', () => {
  const seed = drawSeed();
  const chance = createChance(seed);
  const sqlite = openWriter(12);
  for (let n = 1; n <= COMMITS; n += 1) {
    sqlite.exec(`INSERT INTO t VALUES (${n}, '${'x'.repeat(chance.next(30_000))}')`);
    const copy = takeCopy();
    expect(() => repairLog(copy), `seed ${seed}, commit ${n}`).not.toThrow();
    expect(readLast(copy), `seed ${seed}, commit ${n}`).toBe(n);
  }
  sqlite.close();
});

test('with a torn end is read up to it', () => {
  const seed = drawSeed();
  const chance = createChance(seed);
  const sqlite = openWriter(1_000);
  for (let n = 1; n <= 20; n += 1) sqlite.exec(`INSERT INTO t VALUES (${n}, '${'x'.repeat(9_000)}')`);
  const before = readFileSync(`${place.path}-wal`).length;
  sqlite.exec(`INSERT INTO t VALUES (21, '${'x'.repeat(40_000)}')`);
  const whole = readFileSync(`${place.path}-wal`).length;
  for (let times = 0; times < 40; times += 1) {
    const copy = takeCopy();
    const at = before + chance.next(whole - before);
    truncateSync(`${copy}-wal`, at);
    expect(() => repairLog(copy), `seed ${seed}, cut at ${at}`).not.toThrow();
    expect(readLast(copy)).toBe(20);
  }
  sqlite.close();
});

test('with remains of a transaction that failed behind its end is rid of them', () => {
  const sqlite = openWriter(1_000);
  sqlite.exec("INSERT INTO t VALUES (1, 'x')");
  const copy = takeCopy();
  const log = readFileSync(`${copy}-wal`);
  const remains = log.subarray(LOG_HEADER_BYTES, LOG_HEADER_BYTES + FRAME_BYTES);
  writeFileSync(`${copy}-wal`, Buffer.concat([log, Buffer.from(remains).fill(0, 4, 8)]));
  repairLog(copy);
  expect(readFileSync(`${copy}-wal`)).toEqual(log);
  expect(readLast(copy)).toBe(1);
  sqlite.close();
});

test('with a damaged frame or head is refused with the place and what to do, and stays as it is', () => {
  const sqlite = openWriter(1_000);
  for (let n = 1; n <= 9; n += 1) sqlite.exec(`INSERT INTO t VALUES (${n}, 'x')`);
  for (const at of [0, 3, 9, 17, 25, LOG_HEADER_BYTES, LOG_HEADER_BYTES + 5, LOG_HEADER_BYTES + 9, 3_000]) {
    const copy = takeCopy();
    const log = readFileSync(`${copy}-wal`);
    log[at] = (log[at] ?? 0) ^ 1;
    writeFileSync(`${copy}-wal`, log);
    expect(() => repairLog(copy), `byte ${at}`).toThrow(
      /the log .*copy\.db-wal is damaged at byte \d+.* Restore .*truncate -s \d+ '.*copy\.db-wal'/,
    );
    expect(readFileSync(`${copy}-wal`)).toEqual(log);
  }
  sqlite.close();
});

test('that is not there, or empty, is nothing to settle', () => {
  repairLog(place.path);
  writeFileSync(`${place.path}-wal`, '');
  repairLog(place.path);
  expect(readFileSync(`${place.path}-wal`)).toHaveLength(0);
  expect(existsSync(place.path)).toBe(false);
});
