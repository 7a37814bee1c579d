/**
 * What gateways of each format wrote into a file is opened by this one: it says what a gateway says whose
 * store was just filled alike, goes on with all of it, and leaves nothing of it behind. And this gateway
 * writes what the newest of the files in `stored/` holds, row by row, so that no stored name changes unseen.
 *
 * Where a change is meant: raise the version in `sqlite/file-format.ts` if gateways before it must not write
 * the file any more. Then `STORED=write npm test -- test/engines/stored-sqlite.test.ts` writes the file of
 * that version, beside the old ones. Without a new version it writes the newest anew: that is right for a
 * field with a default which older gateways may leave out.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openFileHere } from '../../server/engines/embedded/open.ts';
import { prepareFormat, VERSIONS_OF_THIS } from '../../server/engines/embedded/sqlite/file-format.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { createWallClock, SILENT } from '../harness/silent-log.ts';
import { createWorld, type World } from '../harness/world.ts';
import { createTestFolder } from './embedded-under-test.ts';
import {
  describeWorld,
  endWorld,
  FILLED_MS,
  fillWorld,
  readReadings,
  STORED_FOLDER,
  writeReadings,
} from './stored-world.ts';

const SERVER = join(import.meta.dirname, '../../server');
const FILES = readdirSync(STORED_FOLDER)
  .filter((file) => file.endsWith('.sql'))
  .sort();
/** The identity of a database is a random number. */
const IDENTITY = /PRAGMA user_version = (\d+)/;

let testFolder: ReturnType<typeof createTestFolder>;
let worlds: World[];

beforeEach(() => {
  testFolder = createTestFolder();
  worlds = [];
});
afterEach(async () => {
  for (const { store } of worlds) await store.close();
  testFolder.remove();
});

async function openWorld(path = testFolder.path, atMs = 0): Promise<World> {
  const clock = createFakeClock();
  await clock.advance(atMs);
  const openStorage = () => openFileHere(path);
  const store = await createEmbeddedStore({
    openStorage,
    clock,
    log: SILENT,
    wallMs: createWallClock(clock),
  });
  const world = createWorld(store, { clock });
  worlds.push(world);
  return world;
}

function quote(value: unknown): string {
  if (value === null) return 'NULL';
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

/** The file as SQL that creates it again, a row in each line. */
function writeSql(path: string): string {
  const sqlite = new DatabaseSync(path, { readOnly: true });
  const all = (sql: string): readonly Record<string, unknown>[] => sqlite.prepare(sql).all();
  const read = (pragma: string): unknown => Object.values(all(`PRAGMA ${pragma}`)[0] ?? {})[0];
  const lines = all('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').map(({ sql }) => `${sql};`);
  for (const table of ['kv', 'large'])
    for (const row of all(`SELECT * FROM ${table} ORDER BY 1`))
      lines.push(`INSERT INTO ${table} VALUES (${Object.values(row).map(quote).join(', ')});`);
  for (const pragma of ['application_id', 'user_version']) lines.push(`PRAGMA ${pragma} = ${read(pragma)};`);
  sqlite.close();
  return `${lines.join('\n')}\n`;
}

function runSql(sql: string, path = testFolder.path): void {
  const sqlite = new DatabaseSync(path);
  sqlite.exec(sql);
  sqlite.close();
}

function readNumber(pragma: string): number {
  const sqlite = new DatabaseSync(testFolder.path, { readOnly: true });
  const value = Number(Object.values(sqlite.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
  sqlite.close();
  return value;
}

/** What a gateway says of a world that it has filled itself, and what it has stored. */
async function fill() {
  const path = join(testFolder.folder, 'filled.db');
  const filling = await openWorld(path);
  await fillWorld(filling);
  await filling.store.close();
  const sql = writeSql(path);
  const world = await openWorld(path, FILLED_MS);
  return { sql, readings: await describeWorld(world) };
}

test('this gateway writes what the newest file holds', async () => {
  const { sql, readings } = await fill();
  const newest = join(STORED_FOLDER, `sqlite-${Number(IDENTITY.exec(sql)?.[1]) % 256}.sql`);
  if (process.env.STORED === 'write') {
    writeFileSync(newest, sql);
    writeReadings(newest, readings);
  }
  expect(readings).toMatchObject(readReadings(newest));
  expect(sql.replace(IDENTITY, '')).toBe(readFileSync(newest, 'utf8').replace(IDENTITY, ''));
  const layout = readFileSync(join(SERVER, 'engines/embedded/storage/row-keys.ts'), 'utf8');
  const kinds = [...layout.matchAll(/^ \* {3}([a-z-]+)\/|, ([a-z-]+)\/ID {2}/gm)].map(([, a, b]) => a ?? b);
  const stored = [...sql.matchAll(/^INSERT INTO kv VALUES \('([a-z-]+)/gm)].map(([, kind]) => kind);
  expect([...new Set(stored)].sort()).toEqual([...new Set(kinds)].sort());
});

test.each(FILES)('%s is opened, says the same, goes on, and leaves nothing behind', async (file) => {
  runSql(readFileSync(join(STORED_FOLDER, file), 'utf8'));
  const world = await openWorld(testFolder.path, FILLED_MS);
  expect(await describeWorld(world)).toMatchObject(readReadings(file));
  await endWorld(world);
  await world.store.close();
  expect(writeSql(testFolder.path).match(/^INSERT INTO \w+ VALUES \('(?!meta|activity)[^']*/gm)).toBeNull();
});

test('a later gateway raises the version of a file; this one refuses it then, and it stays as it is', async () => {
  runSql(readFileSync(join(STORED_FOLDER, FILES.at(-1) ?? ''), 'utf8'));
  const before = readNumber('user_version');
  const later = new DatabaseSync(testFolder.path);
  const { written } = VERSIONS_OF_THIS;
  const [next, beyond] = [written + 1, written + 2];
  expect(() => prepareFormat(later, testFolder.path, { written: beyond, oldest: next })).toThrow(
    `has format version ${written}, this gateway reads versions ${next} to ${beyond}.`,
  );
  expect(readNumber('user_version')).toBe(before);
  prepareFormat(later, testFolder.path, { written: next, oldest: written });
  later.close();
  // One more, and the next identity: it may be the first transaction of a log.
  const raised = readNumber('user_version');
  expect(raised).toBe(before + 257);
  await expect(openWorld()).rejects.toThrow(`has format version ${next}, this gateway reads`);
  expect(readNumber('user_version')).toBe(raised);
  expect(existsSync(`${testFolder.path}-wal`)).toBe(false);
});
