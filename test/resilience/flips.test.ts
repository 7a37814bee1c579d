/**
 * A flipped bit anywhere in a store file that the real gateway wrote: the engine opens the file, and all of
 * its contents are read.
 *
 * Promised of each read: it returns what it did before, or an error that names the file or the key; never
 * another value. There are two exceptions, which are checked here as well:
 * - A bit in SQLite's own pages, or in a key, can hide rows. They read as absent, and a listing lacks them. A
 *   read
 *   can't notice that; the inspection that runs beside the gateway after each start does, and names the file.
 * - In the last transaction of the log of a killed process a flipped bit looks like the torn end that a power
 *   cut
 *   leaves: that transaction counts as never committed, as a whole. After an orderly stop there is no log.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openFileHere } from '../../server/engines/embedded/open.ts';
import { findDamage } from '../../server/engines/embedded/sqlite/inspection.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import { createRandom, drawSeed } from '../engines/store-under-test.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { printTally } from '../harness/figures.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { SILENT } from '../harness/silent-log.ts';
import { type Contents, type Reading, readAll } from './read-all.ts';
import { seedDatabase } from './seeded-database.ts';

/** How many bits are flipped in each file; `FLIP_RUNS` asks for more, `FLIP_SEED` for the same again. */
const FLIPS = Number(process.env.FLIP_RUNS ?? 150);
const SEED = Number(process.env.FLIP_SEED ?? drawSeed());
const TASKS_EACH_RUN = 40;
const FRAME_HEADER_BYTES = 24;
const LOG_HEADER_BYTES = 32;
const PAGE_BYTES = 4_096;
/** The first byte of a page of the table's leaves, and of one above them. */
const LEAF_PAGE = 0x0a;
const INNER_PAGE = 0x02;
/** What comes before the list of the cells' positions; and, at most, before the key in a cell. */
const INNER_HEADER_BYTES = 12;
const CELL_HEADER_BYTES_MAX = 20;

/** The bytes of a store's files. */
type Files = { readonly database: Buffer; readonly log: Buffer };
type Readings = ReadonlyMap<string, Reading>;

let folder: string;
let contents: Contents;
let copies = 0;
let killed: Files;
let stopped: Files;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-flip-'));
  const file = join(folder, 'gateway.db');
  contents = await seedDatabase(file, TASKS_EACH_RUN);
  killed = readFiles(file);
  await readFile(file);
  stopped = readFiles(file);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function readFiles(file: string): Files {
  const log = `${file}-wal`;
  return { database: readFileSync(file), log: existsSync(log) ? readFileSync(log) : Buffer.alloc(0) };
}

/** Puts the files into a folder of their own: no connection to an earlier copy can be in the way. */
function put({ database, log }: Files): string {
  copies += 1;
  const copy = join(folder, String(copies));
  mkdirSync(copy);
  const file = join(copy, 'gateway.db');
  writeFileSync(file, database);
  if (log.length > 0) writeFileSync(`${file}-wal`, log);
  return file;
}

/** All that the engine reads from a file, or the message with which it refuses the file. */
async function readFile(file: string): Promise<Readings | string> {
  try {
    const openStorage = () => openFileHere(file);
    const store = await createEmbeddedStore({ openStorage, clock: createFakeClock(), log: SILENT });
    try {
      return await readAll(store, contents);
    } finally {
      await store.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function readIntact(files: Files): Promise<Readings> {
  const readings = await readFile(put(files));
  if (typeof readings === 'string') throw new Error(readings);
  expect([...readings.values()].filter((reading) => 'error' in reading)).toEqual([]);
  return readings;
}

function flip(bytes: Buffer, at: number, bit: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
  return flipped;
}

/** Whether a message names the file or a key: a person must know where to look. */
const isNamed = (message: string): boolean => /gateway\.db|under "[^"]+"/.test(message);

type Difference = {
  readonly wrong: readonly string[];
  readonly unnamed: readonly string[];
  readonly hidden: readonly string[];
  readonly outcome: 'as it was' | 'named' | 'hidden';
};

/** Compares what is read from a damaged file with what was read before. */
function compare(now: Readings | string, before: Readings): Difference {
  const errors =
    typeof now === 'string'
      ? [now]
      : [...now.values()].flatMap((reading) => ('error' in reading ? [reading.error] : []));
  const differing =
    typeof now === 'string'
      ? []
      : [...before]
          .filter(([name, old]) => {
            const reading = now.get(name);
            return !reading || ('value' in reading && 'value' in old && reading.value !== old.value);
          })
          .map(([name]) => name);
  const isHidden = (name: string): boolean =>
    typeof now !== 'string' && checkHidden(now.get(name), before.get(name), name);
  const hidden = differing.filter(isHidden);
  return {
    wrong: differing.filter((name) => !isHidden(name)),
    unnamed: errors.filter((message) => !isNamed(message)),
    hidden,
    outcome: hidden.length > 0 ? 'hidden' : errors.length > 0 ? 'named' : 'as it was',
  };
}

/**
 * Whether a reading only lacks something: it is absent, or a listing that is a part of what it was, in its
 * order.
 */
function checkHidden(now: Reading | undefined, old: Reading | undefined, name: string): boolean {
  if (!now || !old || 'error' in now || 'error' in old) return false;
  if (now.value === undefined) return true;
  if (old.value === undefined || !/^(tasks|feed|agents|slots)/.test(name)) return false;
  const whole = (JSON.parse(old.value) as unknown[]).map((item) => JSON.stringify(item));
  let from = 0;
  return (JSON.parse(now.value) as unknown[]).every((item) => {
    from = whole.indexOf(JSON.stringify(item), from) + 1;
    return from > 0;
  });
}

/**
 * Where the last transaction of a log begins: after the last but one of the frames that end a transaction.
 */
function findLastTransaction({ log }: Files): number {
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  const ends: number[] = [LOG_HEADER_BYTES];
  for (let at = LOG_HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    if (!log.subarray(at + 8, at + 16).equals(salt)) break;
    if (log.readUInt32BE(at + 4) !== 0) ends.push(at + frameBytes);
  }
  return ends.at(-2) ?? LOG_HEADER_BYTES;
}

describe(`a flipped bit (FLIP_SEED=${SEED})`, () => {
  test(`in the database is never a wrong value, at ${FLIPS} random positions`, {
    timeout: 240_000 + FLIPS * 200,
  }, async () => {
    const before = await readIntact(stopped);
    expect(stopped.log).toHaveLength(0);
    expect(before.get('tasks')).toMatchObject({ value: expect.stringMatching(/^\[".*"\]$/) });
    const random = createRandom(SEED);
    const outcomes = { 'as it was': 0, named: 0, hidden: 0 };
    for (let run = 0; run < FLIPS; run += 1) {
      // Every third in the head of a page, where SQLite keeps what leads to the rows.
      const page = random.next(stopped.database.length / PAGE_BYTES);
      const at = run % 3 === 0 ? page * PAGE_BYTES + random.next(24) : random.next(stopped.database.length);
      const bit = random.next(8);
      const flipped = { ...stopped, database: flip(stopped.database, at, bit) };
      const file = put(flipped);
      const { wrong, unnamed, hidden, outcome } = compare(await readFile(file), before);
      const where = `bit ${bit} of byte ${at}, FLIP_SEED=${SEED}`;
      expect(wrong, where).toEqual([]);
      expect(unnamed, where).toEqual([]);
      outcomes[outcome] += 1;
      if (hidden.length > 0) {
        const damage = await findDamage(put(flipped));
        expect(damage ?? `no damage, but ${where} hides ${hidden.join(', ')}`).toMatch(/gateway\.db/);
      }
      rmSync(join(file, '..'), { recursive: true });
    }
    for (const [name, count] of Object.entries(outcomes)) {
      printTally(`flips-in-database:${name.replaceAll(' ', '-')}`, count, 'flips');
    }
    expect(outcomes.named).toBeGreaterThan(0);
  });

  test(`in the log of a killed process is named, at ${FLIPS} random positions, or its last transaction was never made`, {
    timeout: 240_000 + FLIPS * 200,
  }, async () => {
    const before = await readIntact(killed);
    const last = findLastTransaction(killed);
    const without = await readIntact({ ...killed, log: killed.log.subarray(0, last) });
    const random = createRandom(SEED);
    let named = 0;
    for (let run = 0; run < FLIPS; run += 1) {
      // Every tenth in the last transaction.
      const at =
        run % 10 === 0 ? last + random.next(killed.log.length - last) : random.next(killed.log.length);
      const bit = random.next(8);
      const now = await readFile(put({ ...killed, log: flip(killed.log, at, bit) }));
      const where = `bit ${bit} of byte ${at} of ${killed.log.length}, FLIP_SEED=${SEED}`;
      if (typeof now !== 'string') {
        // After the last frame there may be remains of an earlier use of the log, which are never read.
        expect(at, where).toBeGreaterThanOrEqual(last);
        const outcomes = [before, without].map((state) => compare(now, state).outcome);
        expect(outcomes, where).toContain('as it was');
        continue;
      }
      named += 1;
      expect(now, where).toMatch(/the log .*gateway\.db-wal is damaged at byte \d+/);
    }
    printTally('flips-in-log:named', named, 'flips');
    printTally('flips-in-log:last-transaction-unmade', FLIPS - named, 'flips');
    expect(named).toBeGreaterThan(0);
  });
});

/** The key of a row in an inner page begins with a byte that no text has: it is larger than all others. */
function raiseInnerKey({ database, log }: Files): Files {
  const pages = Array.from({ length: database.length / PAGE_BYTES }, (_, page) => page * PAGE_BYTES);
  const inner = pages.find((at) => database[at] === INNER_PAGE) ?? 0;
  expect(inner).toBeGreaterThan(0);
  const cells = Array.from({ length: database.readUInt16BE(inner + 3) }, (_, index) =>
    database.readUInt16BE(inner + INNER_HEADER_BYTES + 2 * index),
  );
  const keys = cells.map((cell) => database.indexOf('task/', inner + cell) - inner);
  const key = keys.find((at, index) => at > 0 && at - (cells[index] ?? 0) < CELL_HEADER_BYTES_MAX) ?? 0;
  expect(key).toBeGreaterThan(0);
  return { database: flip(database, inner + key, 7), log };
}

/** The number of rows in the head of a leaf page is lowered by one: its last row is gone. */
function hideRow({ database, log }: Files): Files {
  const pages = Array.from({ length: database.length / PAGE_BYTES }, (_, page) => page * PAGE_BYTES);
  const leaf = pages.find((at) => database[at] === LEAF_PAGE && database.readUInt16BE(at + 3) > 2) ?? 0;
  expect(leaf).toBeGreaterThan(0);
  const hiding = Buffer.from(database);
  hiding.writeUInt16BE(database.readUInt16BE(leaf + 3) - 1, leaf + 3);
  return { database: hiding, log };
}

describe('a row that damage hides', () => {
  test('is noticed by the inspection, which reports nothing for an intact file', async () => {
    expect(await findDamage(put(stopped))).toBeUndefined();
    expect(await findDamage(put(killed))).toBeUndefined();
    expect(await findDamage(put(hideRow(stopped)))).toMatch(/the pages of .*gateway\.db are damaged/);
    expect(await findDamage(put(raiseInnerKey(stopped)))).toMatch(
      /gateway\.db are damaged.*PRIMARY KEY order/,
    );
  });

  test('is reported in the log of the real gateway soon after its start', async () => {
    const gateway = await startGateway({ STORE: `sqlite:${put(hideRow(stopped))}` });
    try {
      await expect
        .poll(gateway.output, { timeout: 60_000 })
        .toMatch(/the pages of .*gateway\.db are damaged.*"msg":"the database is damaged/);
      expect((await fetch(`${gateway.baseUrl}/readyz`)).status).toBe(200);
    } finally {
      await gateway.stop();
    }
  });
});
