/**
 * A flipped bit anywhere in a store file that the real gateway wrote: the file is opened by the engine and everything
 * in it is asked for.
 *
 * What is promised of each answer: it is what it was, or an error that names the file or the key. A value is never
 * another one. There are two exceptions, both stated and held here:
 * - A bit in SQLite's own pages, or in a key, can hide rows. They read as absent, and a listing lacks them. Asking for
 *   what is absent can't tell; the inspection that runs beside the gateway after each start does, and names it.
 * - Within the last transaction of the log of a killed process a flipped bit can't be told from the torn end that a
 *   power cut leaves: that transaction counts as never made, as a whole. After an orderly stop there is no log.
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
import { type Contents, readEverything, type Said } from './read-all.ts';
import { liveIn } from './seeded-database.ts';

/** How many bits are flipped in each file; `FLIP_RUNS` asks for more, `FLIP_SEED` for the same again. */
const FLIPS = Number(process.env.FLIP_RUNS ?? 150);
const SEED = Number(process.env.FLIP_SEED ?? drawSeed());
const TASKS_EACH_LIFE = 40;
const FRAME_HEADER_BYTES = 24;
const LOG_HEADER_BYTES = 32;
const PAGE_BYTES = 4_096;
/** The first byte of a page of the table's leaves. */
const LEAF_PAGE = 0x0a;

/** The bytes of a store's files. */
type Files = { readonly database: Buffer; readonly log: Buffer };
type Everything = ReadonlyMap<string, Said>;

let folder: string;
let contents: Contents;
let copies = 0;
let killed: Files;
let stopped: Files;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-flip-'));
  const file = join(folder, 'gateway.db');
  contents = await liveIn(file, TASKS_EACH_LIFE);
  killed = readFiles(file);
  await readAll(file);
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
  const place = join(folder, String(copies));
  mkdirSync(place);
  const file = join(place, 'gateway.db');
  writeFileSync(file, database);
  if (log.length > 0) writeFileSync(`${file}-wal`, log);
  return file;
}

/** Everything the engine says of a file, or why it refuses it. */
async function readAll(file: string): Promise<Everything | string> {
  try {
    const openStorage = () => openFileHere(file);
    const store = await createEmbeddedStore({ openStorage, clock: createFakeClock(), log: SILENT });
    try {
      return await readEverything(store, contents);
    } finally {
      await store.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function readIntact(files: Files): Promise<Everything> {
  const everything = await readAll(put(files));
  if (typeof everything === 'string') throw new Error(everything);
  expect([...everything.values()].filter((said) => 'error' in said)).toEqual([]);
  return everything;
}

function flip(bytes: Buffer, at: number, bit: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
  return flipped;
}

/** Names the file or a key: a person must know where to look. */
const isNamed = (message: string): boolean => /gateway\.db|under "[^"]+"/.test(message);

type Verdict = {
  readonly wrong: readonly string[];
  readonly unnamed: readonly string[];
  readonly hidden: readonly string[];
  readonly outcome: 'as it was' | 'named' | 'hidden';
};

/** Compares what a damaged file says with what it said before. */
function judge(now: Everything | string, before: Everything): Verdict {
  const errors =
    typeof now === 'string'
      ? [now]
      : [...now.values()].flatMap((said) => ('error' in said ? [said.error] : []));
  const differing =
    typeof now === 'string'
      ? []
      : [...before]
          .filter(([question, said]) => {
            const answer = now.get(question);
            return !answer || ('value' in answer && 'value' in said && answer.value !== said.value);
          })
          .map(([question]) => question);
  const isHidden = (question: string): boolean => lacks(now, before, question);
  const hidden = differing.filter(isHidden);
  return {
    wrong: differing.filter((question) => !isHidden(question)),
    unnamed: errors.filter((message) => !isNamed(message)),
    hidden,
    outcome: hidden.length > 0 ? 'hidden' : errors.length > 0 ? 'named' : 'as it was',
  };
}

/** Whether an answer differs by what it lacks alone: absent, or a listing that is a part of what it was, in its order. */
function lacks(now: Everything | string, before: Everything, question: string): boolean {
  if (typeof now === 'string') return false;
  const [said, old] = [now.get(question), before.get(question)];
  if (!said || !old || 'error' in said || 'error' in old) return false;
  if (said.value === undefined) return true;
  if (old.value === undefined || !/^(tasks|feed|agents|slots)/.test(question)) return false;
  const whole = (JSON.parse(old.value) as unknown[]).map((item) => JSON.stringify(item));
  let from = 0;
  return (JSON.parse(said.value) as unknown[]).every((item) => {
    from = whole.indexOf(JSON.stringify(item), from) + 1;
    return from > 0;
  });
}

/** Where the last transaction of a log begins: behind the last but one of the frames that end one. */
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
  test(`in the database is never a wrong answer, in ${FLIPS} places`, {
    timeout: 60_000 + FLIPS * 200,
  }, async () => {
    const before = await readIntact(stopped);
    expect(stopped.log).toHaveLength(0);
    expect(before.get('tasks')).toMatchObject({ value: expect.stringMatching(/^\[".*"\]$/) });
    const chance = createRandom(SEED);
    const outcomes = { 'as it was': 0, named: 0, hidden: 0 };
    for (let run = 0; run < FLIPS; run += 1) {
      // Every third in the head of a page, where SQLite keeps what leads to the rows.
      const page = chance.next(stopped.database.length / PAGE_BYTES);
      const at = run % 3 === 0 ? page * PAGE_BYTES + chance.next(24) : chance.next(stopped.database.length);
      const bit = chance.next(8);
      const flipped = { ...stopped, database: flip(stopped.database, at, bit) };
      const file = put(flipped);
      const { wrong, unnamed, hidden, outcome } = judge(await readAll(file), before);
      const where = `bit ${bit} of byte ${at}, FLIP_SEED=${SEED}`;
      expect(wrong, where).toEqual([]);
      expect(unnamed, where).toEqual([]);
      outcomes[outcome] += 1;
      if (hidden.length > 0) {
        expect(await findDamage(put(flipped)), `${where} hides ${hidden.join(', ')}`).toMatch(/gateway\.db/);
      }
      rmSync(join(file, '..'), { recursive: true });
    }
    for (const [name, count] of Object.entries(outcomes)) {
      printTally(`flips-in-database:${name.replaceAll(' ', '-')}`, count, 'flips');
    }
    expect(outcomes.named).toBeGreaterThan(0);
  });

  test(`in the log of a killed process is named, in ${FLIPS} places, or its last transaction was never made`, {
    timeout: 60_000 + FLIPS * 200,
  }, async () => {
    const before = await readIntact(killed);
    const last = findLastTransaction(killed);
    const without = await readIntact({ ...killed, log: killed.log.subarray(0, last) });
    const chance = createRandom(SEED);
    let named = 0;
    for (let run = 0; run < FLIPS; run += 1) {
      // Every tenth in the last transaction.
      const at =
        run % 10 === 0 ? last + chance.next(killed.log.length - last) : chance.next(killed.log.length);
      const bit = chance.next(8);
      const now = await readAll(put({ ...killed, log: flip(killed.log, at, bit) }));
      const where = `bit ${bit} of byte ${at} of ${killed.log.length}, FLIP_SEED=${SEED}`;
      if (typeof now !== 'string') {
        // Behind the last frame there may be the remains of an earlier use of the log, which nobody reads.
        expect(at, where).toBeGreaterThanOrEqual(last);
        const verdicts = [before, without].map((state) => judge(now, state).outcome);
        expect(verdicts, where).toContain('as it was');
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
  test('is noticed by the inspection, which has nothing to say of an intact file', async () => {
    expect(await findDamage(put(stopped))).toBeUndefined();
    expect(await findDamage(put(killed))).toBeUndefined();
    expect(await findDamage(put(hideRow(stopped)))).toMatch(/the pages of .*gateway\.db are damaged/);
  });

  test('is told in the log of the real gateway soon after its start', { timeout: 30_000 }, async () => {
    const gateway = await startGateway({ STORE: `sqlite:${put(hideRow(stopped))}` });
    try {
      await expect
        .poll(gateway.output, { timeout: 20_000 })
        .toMatch(/the pages of .*gateway\.db are damaged.*"msg":"the database is damaged/);
      expect((await fetch(`${gateway.baseUrl}/readyz`)).status).toBe(200);
    } finally {
      await gateway.stop();
    }
  });
});
