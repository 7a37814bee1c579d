/**
 * The log of a database after any end of its process: read to its last whole transaction, refused only when
 * damaged.
 */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { copyDatabase } from '../../server/engines/embedded/sqlite/backup.ts';
import { claimDatabase, openDatabase, openReader } from '../../server/engines/embedded/sqlite/database.ts';
import { repairLog } from '../../server/engines/embedded/sqlite/write-ahead-log.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
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

/** A database of the gateway whose log is reused after every few pages. */
function openWriter(pagesPerUse: number): DatabaseSync {
  openDatabase(testFolder.path).close();
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
  const database = openDatabase(testFolder.path);
  // While it reads, a log that is in the database is written on, not written anew.
  const reader = new DatabaseSync(testFolder.path, { readOnly: true });
  for (let n = 1; n <= COMMITS; n += 1) {
    database.apply(
      [
        [`row ${n}`, 'x'.repeat(random.next(30_000))],
        ['last', `${n}`],
      ],
      [],
    );
    const copy = takeCopy();
    expect(() => repairLog(copy), `seed ${seed}, commit ${n}`).not.toThrow();
    const found = openReader(copy);
    expect(found.get('last'), `seed ${seed}, commit ${n}`).toBe(`${n}`);
    found.close();
    if (reader.isTransaction) reader.exec('COMMIT');
    if (random.next(4) === 0) reader.exec('BEGIN; SELECT count(*) FROM kv');
    if (random.next(3) === 0) database.checkpoint();
  }
  reader.close();
  database.close();
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

/**
 * A database whose last transaction failed after its frames were written: the log has them, and its index,
 * which a connection that stays open keeps, does not. Returns that connection.
 */
function failTransaction(path: string): ReturnType<typeof openReader> {
  const database = openDatabase(path, true);
  database.apply([['first', 'x']], []);
  const reader = openReader(path);
  const ahead = join(testFolder.folder, 'ahead.db');
  copyFileSync(path, ahead);
  copyFileSync(`${path}-wal`, `${ahead}-wal`);
  const other = new DatabaseSync(ahead);
  other.exec(
    'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600) ' +
      "INSERT INTO kv (key, value, crc) SELECT 'failed/' || i, hex(randomblob(400)), 0 FROM n",
  );
  const frames = readFileSync(`${ahead}-wal`).subarray(statSync(`${path}-wal`).size);
  other.close();
  expect(frames.length).toBeGreaterThan(10 * FRAME_BYTES);
  appendFileSync(`${path}-wal`, frames);
  database.close();
  return reader;
}

test('frames of a failed transaction are gone when a connection is opened beside one that was open already', () => {
  const reader = failTransaction(testFolder.path);
  const database = openDatabase(testFolder.path);
  database.apply([['second', 'x']], []);
  const before = readFileSync(`${testFolder.path}-wal`);
  const copy = takeCopy();
  database.apply([['third', 'x'.repeat(60_000)]], []);
  const after = readFileSync(`${testFolder.path}-wal`);
  // A cut of the power that loses the first frames of an unsynced transaction.
  const lostFrom = after.findIndex((byte, at) => byte !== before[at]);
  const lostTo = lostFrom + 3 * FRAME_BYTES;
  const lost = Buffer.concat([before.subarray(lostFrom, lostTo), Buffer.alloc(3 * FRAME_BYTES)]);
  const left = [after.subarray(0, lostFrom), lost.subarray(0, 3 * FRAME_BYTES), after.subarray(lostTo)];
  writeFileSync(`${copy}-wal`, Buffer.concat(left));
  expect(() => repairLog(copy)).not.toThrow();
  const reopened = openDatabase(copy);
  expect(reopened.get('second')).toBe('x');
  for (const connection of [reopened, database, reader]) connection.close();
});

test('a database that is opened again beside a reader keeps its log when another program opens and closes it', () => {
  const { path } = testFolder;
  const first = openDatabase(path);
  first.apply([['first', 'x']], []);
  const reader = openReader(path);
  first.close();
  const database = openDatabase(path, true);
  database.apply([['second', 'x']], []);
  const program =
    "const { DatabaseSync } = require('node:sqlite'); const sqlite = new DatabaseSync(process.argv[1]); " +
    "sqlite.prepare('SELECT count(*) FROM kv').get(); sqlite.close();";
  execFileSync(process.execPath, ['-e', program, path]);
  database.apply([['third', 'x']], []);
  const copy = openDatabase(takeCopy());
  expect([copy.get('second'), copy.get('third')]).toEqual(['x', 'x']);
  for (const connection of [copy, database, reader]) connection.close();
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

describe('a log with changes is kept, and refused,', () => {
  /** A database and its log, as a killed process would leave them, with a row that is in the log alone. */
  async function createCrashed(name: string): Promise<string> {
    const path = join(testFolder.folder, name);
    const database = openDatabase(path, true);
    const rows = Array.from({ length: 300 }, (_, n) => [`key ${n}`, name] as const);
    database.apply(rows, []);
    const copy = join(testFolder.folder, `${name}.crashed`);
    copyFileSync(path, copy);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    database.close();
    return copy;
  }

  async function expectRefused(path: string, message: RegExp): Promise<void> {
    const log = readFileSync(`${path}-wal`);
    const clock = createFakeClock();
    await expect(claimDatabase(path, { clock, log: SILENT })).rejects.toThrow(message);
    expect(() => openDatabase(path)).toThrow(message);
    expect(readFileSync(`${path}-wal`).equals(log)).toBe(true);
  }

  test.each(['missing', 'empty'])('beside a database that is %s', async (state) => {
    const path = await createCrashed('a.db');
    if (state === 'missing') rmSync(path);
    else truncateSync(path, 0);
    const advice =
      /The database .*a\.db\.crashed is missing or empty, but its log .*-wal has .* mv '.*-wal' /;
    await expectRefused(path, advice);
    expect(() => openDatabase(path, true)).toThrow(advice);
    const copied = copyDatabase(path, join(testFolder.folder, 'copy.db'));
    await expect(copied).rejects.toThrow(advice);
    expect(existsSync(`${path}-wal`)).toBe(true);
    expect(existsSync(path)).toBe(state === 'empty');
  });

  test('beside a file that is not a database, and beside the database of another program', async () => {
    const path = await createCrashed('a.db');
    writeFileSync(path, 'A text, not a database. '.repeat(1_000));
    await expectRefused(path, /is not a database, but its log/);
    const theirs = join(testFolder.folder, 'songs.db');
    const sqlite = new DatabaseSync(theirs);
    sqlite.exec('CREATE TABLE songs (title TEXT)');
    sqlite.close();
    copyFileSync(theirs, path);
    await expectRefused(path, /belongs to another program/);
  });

  test('beside another database of a gateway: files that were swapped', async () => {
    const [a, b] = [await createCrashed('a.db'), await createCrashed('b.db')];
    copyFileSync(`${b}-wal`, `${a}-wal`);
    await expectRefused(a, /The log .*a\.db\.crashed-wal is of another database .* mv /);
  });

  test('beside a backup that was restored without removing it', async () => {
    const path = await createCrashed('a.db');
    const backup = join(testFolder.folder, 'backup.db');
    await copyDatabase(path, backup);
    copyFileSync(backup, path);
    await expectRefused(path, /is of another database .* a backup that was restored beside/);
    rmSync(`${path}-wal`);
    const restored = openDatabase(path);
    expect(restored.get('key 299')).toBe('a.db');
    restored.close();
  });

  test.each(['a backup', 'a file that was copied'])(
    'beside %s of before, though no page that they share is new',
    async (which) => {
      const { path } = testFolder;
      const older = join(testFolder.folder, 'older.db');
      const database = openDatabase(path);
      database.apply(
        [
          ['a', '1'],
          ['b', '1'],
        ],
        [],
      );
      database.checkpoint();
      if (which === 'a backup') await copyDatabase(path, older);
      else copyFileSync(path, older);
      database.apply([['a', '2']], []);
      database.checkpoint();
      database.apply([['b', '2']], []);
      copyFileSync(`${path}-wal`, `${older}-wal`);
      await expectRefused(older, /or of a later state of it/);
      database.close();
    },
  );

  test('but beside its own database it is read', async () => {
    const path = await createCrashed('a.db');
    const database = openDatabase(path, true);
    expect(database.get('key 299')).toBe('a.db');
    database.close();
  });
});

test('a missing or empty log needs no repair', () => {
  repairLog(testFolder.path);
  writeFileSync(`${testFolder.path}-wal`, '');
  repairLog(testFolder.path);
  expect(readFileSync(`${testFolder.path}-wal`)).toHaveLength(0);
  expect(existsSync(testFolder.path)).toBe(false);
});
