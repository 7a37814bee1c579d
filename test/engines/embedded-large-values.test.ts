/**
 * Values that are too long for a row: they stand in a table of their own, so that no search for a key reads
 * them.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { copyDatabase } from '../../server/engines/embedded/sqlite/backup.ts';
import { openDatabase, openReader } from '../../server/engines/embedded/sqlite/database.ts';
import { findDamage } from '../../server/engines/embedded/sqlite/inspection.ts';
import { createAdapter, writeHere } from '../../server/engines/embedded/storage/keyv-adapter.ts';
import { createTestFolder } from './embedded-under-test.ts';

const LONG = 'x'.repeat(5_000);
const NOTHING = new Set<string>();

let testFolder: ReturnType<typeof createTestFolder>;
let path: string;

beforeEach(() => {
  testFolder = createTestFolder();
  ({ path } = testFolder);
});
afterEach(() => testFolder.remove());

/** Writes rows as a gateway does that has the file for itself. */
function write(sets: Readonly<Record<string, string>>, deletes: Iterable<string> = NOTHING): void {
  const database = openDatabase(path);
  database.apply(Object.entries(sets), deletes);
  database.close();
}

function read(key: string): string | undefined {
  const reader = openReader(path);
  try {
    return reader.get(key);
  } finally {
    reader.close();
  }
}

/** Runs SQL on the file and returns the first column of the first row. */
function query(sql: string): unknown {
  const sqlite = new DatabaseSync(path);
  try {
    return Object.values(sqlite.prepare(sql).get() ?? {})[0];
  } finally {
    sqlite.close();
  }
}

const countLarge = () => query('SELECT count(*) FROM large');
const countTriggers = () => query("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'");

describe('a value that is too long for a row', () => {
  test('is read as it was written, alone and among others', () => {
    write({ a: 'short', b: LONG, c: '' });
    const reader = openReader(path);
    expect(reader.get('b')).toBe(LONG);
    const rows = [
      ['a', 'short'],
      ['b', LONG],
      ['c', ''],
    ];
    expect(reader.scan('a', 'd', 9, false)).toEqual(rows);
    expect(reader.scan('a', 'd', 9, true)).toEqual(rows.toReversed());
    expect(reader.scanToEnd('b', 9)).toEqual(rows.slice(1));
    reader.close();
  });

  test('is alone in its tick of the event loop if it is large, however many are read side by side', async () => {
    const large = LONG.repeat(20);
    write({ a: large, b: large, c: large });
    const adapter = createAdapter(openReader(path), writeHere(openDatabase(path)));
    let ticks = 0;
    const count = (): void => {
      ticks += 1;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const readAt = await Promise.all(
      ['a', 'b', 'c'].map(async (key) => {
        expect(await adapter.get(key)).toBe(large);
        return ticks;
      }),
    );
    clearImmediate(counting);
    expect(new Set(readAt).size).toBe(3);
    await adapter.disconnect?.();
  });

  test('leaves with its row, and when another takes its place', () => {
    write({ a: LONG, b: LONG, c: LONG });
    expect(countLarge()).toBe(3);
    write({ a: 'short', b: `${LONG}!` }, ['c']);
    expect(countLarge()).toBe(1);
    expect([read('a'), read('b'), read('c')]).toEqual(['short', `${LONG}!`, undefined]);
  });

  test('leaves every row of the other table within its page', () => {
    const rows = Array.from({ length: 300 }, (_, n) => [`key/${n}`, 'y'.repeat(n * 10)] as const);
    const long = Array.from({ length: 9 }, (_, n) => [`long/${n}`, LONG.repeat(n + 1)] as const);
    write(Object.fromEntries([...rows, ...long]));
    expect(query("SELECT count(*) FROM dbstat WHERE name = 'kv' AND pagetype = 'overflow'")).toBe(0);
    expect(countLarge()).toBeGreaterThan(9);
  });

  test('that was changed, or is missing, is damage that names the key', async () => {
    write({ a: LONG, b: LONG });
    query("UPDATE large SET value = 'y' || substr(value, 2) WHERE id = 1 RETURNING id");
    expect(() => read('a')).toThrow(/"a" in .* is damaged/);
    expect(await findDamage(path)).toMatch(/"a" in .* is damaged/);
    query('DELETE FROM large WHERE id = 2 RETURNING id');
    expect(() => read('b')).toThrow(/"b" in .* is damaged/);
  });

  test('is in a copy of the file', async () => {
    write({ a: LONG });
    const copy = join(testFolder.folder, 'copy.db');
    await copyDatabase(path, copy);
    path = copy;
    expect(read('a')).toBe(LONG);
    write({ a: 'short' });
    expect(countLarge()).toBe(0);
  });

  test('any sequence of writes is read as a map would be, and keeps no value too many', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd');
    const value = fc.nat(2_000).map((length) => 'z'.repeat(length));
    const group = fc.record({ sets: fc.dictionary(key, value), deletes: fc.uniqueArray(key) });
    const database = openDatabase(path);
    fc.assert(
      fc.property(fc.array(group, { maxLength: 8 }), (groups) => {
        database.apply([], ['a', 'b', 'c', 'd']);
        const expected = new Map<string, string>();
        for (const { sets, deletes } of groups) {
          // A key that is set and removed at once does not occur: the group of a commit has it only once.
          const removed = deletes.filter((one) => !(one in sets));
          database.apply(Object.entries(sets), removed);
          for (const [one, text] of Object.entries(sets)) expected.set(one, text);
          for (const one of removed) expected.delete(one);
          const sorted = [...expected].sort(([a], [b]) => (a < b ? -1 : 1));
          expect(database.scanToEnd('', 9)).toEqual(sorted);
        }
      }),
    );
    database.close();
  });
});

describe('before the first such value', () => {
  test('no row pays for looking whether it has one; nor after a group that fails', () => {
    const database = openDatabase(path);
    expect(() => database.apply(Object.entries({ a: LONG, b: null as never }), NOTHING)).toThrow();
    database.close();
    expect(countTriggers()).toBe(0);
    expect(countLarge()).toBe(0);
    write({ a: LONG });
    expect(countTriggers()).toBe(2);
    write({ a: 'short' });
    expect(countLarge()).toBe(0);
  });
});
