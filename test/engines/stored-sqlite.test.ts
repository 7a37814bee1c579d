/**
 * What gateways of each format wrote into a file is opened by this one: it says what a gateway says whose
 * store was just filled alike, goes on with all of it, and leaves nothing of it behind. And this gateway
 * writes what the newest of the files in `stored/` holds, row by row, so that no stored name changes unseen.
 *
 * Where a change is meant: raise the version in `engines/sqlite/file-format.ts` if gateways before it must
 * not write the file any more. Then `STORED=write npm test -- test/engines/stored-sqlite.test.ts` writes the
 * file of that version, beside the old ones. Without a new version it writes the newest anew: that is right
 * for a field with a default which older gateways may leave out.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SCHEMA } from '../../server/engines/sqlite/schema.ts';
import { createSqliteStore } from '../../server/engines/sqlite/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { createWallClock, SILENT } from '../harness/silent-log.ts';
import { createWorld, type World } from '../harness/world.ts';
import { createTestFolder, openFileHere } from './sqlite-under-test.ts';
import {
  describeWorld,
  endWorld,
  FILLED_MS,
  fillWorld,
  readReadings,
  STORED_FOLDER,
  writeReadings,
} from './stored-world.ts';

const TABLES = [...SCHEMA.matchAll(/CREATE TABLE (\w+)/g)].map(([, name = '']) => name);
const FILES = readdirSync(STORED_FOLDER)
  .filter((file) => file.endsWith('.sql'))
  .sort();
/** The name of a run is random: it begins revisions and leases. */
const RUN = /'[0-9a-f]{16}-/g;

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
  const store = createSqliteStore(openFileHere(path), {
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
  for (const table of TABLES)
    for (const row of all(`SELECT * FROM ${table} ORDER BY 1, 2`))
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
  const newest = join(STORED_FOLDER, `sqlite-${/PRAGMA user_version = (\d+)/.exec(sql)?.[1]}.sql`);
  if (process.env.STORED === 'write') {
    writeFileSync(newest, sql);
    writeReadings(newest, readings);
  }
  expect(readings).toMatchObject(readReadings(newest));
  expect(sql.replace(RUN, "'RUN-")).toBe(readFileSync(newest, 'utf8').replace(RUN, "'RUN-"));
  const filled = new Set([...sql.matchAll(/^INSERT INTO (\w+)/gm)].map(([, table]) => table));
  // All that happens in the world is in the present step, which stands with the counts.
  expect(TABLES.filter((table) => !filled.has(table))).toEqual(['step']);
});

test.each(FILES)('%s is opened, says the same, goes on, and leaves nothing behind', async (file) => {
  runSql(readFileSync(join(STORED_FOLDER, file), 'utf8'));
  const world = await openWorld(testFolder.path, FILLED_MS);
  expect(await describeWorld(world)).toMatchObject(readReadings(file));
  await endWorld(world);
  await world.store.close();
  expect(writeSql(testFolder.path).match(/^INSERT INTO (?!count|step)\w+/gm)).toBeNull();
});
