/**
 * The file of the embedded engine: its lock, its format, and a process that is killed while it writes.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Keyv } from 'keyv';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEmbeddedStore } from '../../server/engines/embedded/open.ts';
import { openDatabase } from '../../server/engines/embedded/sqlite/database.ts';
import { createEmbeddedStore } from '../../server/engines/embedded/store.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { createTestFolder } from './embedded-under-test.ts';
import { describeKilled } from './killed-writer.suite.ts';
import { buildInput, must, readState, settle, submit, until } from './store-under-test.ts';

let testFolder: ReturnType<typeof createTestFolder>;
let clock: FakeClock;
let opened: Store[];

beforeEach(() => {
  testFolder = createTestFolder();
  clock = createFakeClock();
  opened = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
  testFolder.remove();
});

async function open(path = testFolder.path): Promise<Store> {
  const store = await openEmbeddedStore({ storage: `sqlite:${path}`, clock, log: SILENT });
  opened.push(store);
  return store;
}

/** Changes a file while no store has it open. */
function runSql(path: string, sql: string): void {
  const sqlite = new DatabaseSync(path);
  sqlite.exec(sql);
  sqlite.close();
}

describe('opening', () => {
  test('creates the folder and the file', async () => {
    const path = join(testFolder.folder, 'deep', 'er', 'tasks.db');
    await submit(await open(path), 't1');
    expect(existsSync(path)).toBe(true);
  });

  test('refuses an unknown storage, naming the known ones', async () => {
    for (const storage of ['redis://localhost', 'tasks.db', 'sqlite:', '']) {
      await expect(openEmbeddedStore({ storage, clock, log: SILENT })).rejects.toThrow(
        /sqlite:PATH or memory:/,
      );
    }
  });

  test('refuses a second opener after ten seconds, naming file and lock; the first keeps working', async () => {
    const first = await open();
    const second = openEmbeddedStore({ storage: `sqlite:${testFolder.path}`, clock, log: SILENT });
    const refused = expect(second).rejects.toThrow(
      `The database ${testFolder.path} is in use by another process, most likely a gateway that runs already; it holds ${testFolder.path}.lock.`,
    );
    await until('the second store waits', () => clock.sleeping() > 0);
    await clock.advance(10_100);
    await refused;
    await submit(first, 't1');
  });

  test('waits until the store before has closed the file', async () => {
    const first = await open();
    await submit(first, 't1');
    const second = open();
    await until('the second store waits', () => clock.sleeping() > 0);
    await clock.advance(3_000);
    await first.close();
    await clock.advance(200);
    expect((await readState(await second, 't1')).value.status).toBe('pending');
  });

  test('refuses a folder that is a file, and one that the system does not create, as in /proc', async () => {
    const file = join(testFolder.folder, 'file');
    writeFileSync(file, '');
    await expect(open(join(file, 'tasks.db'))).rejects.toThrow(`${file} is not a folder. Name a database in`);
    await expect(open('/proc/none/tasks.db')).rejects.toThrow("folder /proc/none can't be created");
  });

  test('refuses a folder that is not writable', async () => {
    await expect(open('/proc/tasks.db')).rejects.toThrow(/can't be (used|created) /);
  });

  test('refuses a file that is not a database, and one that is truncated', async () => {
    writeFileSync(testFolder.path, 'this is a text file, not a database. '.repeat(100));
    await expect(open()).rejects.toThrow(/can't be opened .*Check that the file is intact/);
    const other = join(testFolder.folder, 'cut.db');
    const store = await open(other);
    for (let index = 0; index < 50; index += 1) await submit(store, `t${index}`);
    await store.close();
    execFileSync('truncate', ['-s', '5000', other]);
    await expect(open(other)).rejects.toThrow(/cut\.db|malformed|damaged/);
  });

  test('refuses the database of another program', async () => {
    runSql(testFolder.path, 'CREATE TABLE songs (title TEXT)');
    await expect(open()).rejects.toThrow(/belongs to another program/);
    expect(execFileSync('head', ['-c', '15', testFolder.path], { encoding: 'utf8' })).toBe('SQLite format 3');
  });

  test('refuses an unknown format version, naming both versions', async () => {
    await (await open()).close();
    runSql(testFolder.path, 'PRAGMA user_version = 2');
    await expect(open()).rejects.toThrow(/format version 2, this gateway reads version 4\./);
  });

  test('refuses a storage without apply and scan', async () => {
    const openStorage = async () => new Keyv<string>();
    await expect(createEmbeddedStore({ openStorage, clock, log: SILENT })).rejects.toThrow(
      /no apply\(sets, deletes\) and scan/,
    );
  });

  test('leaves neither lock nor thread behind when it fails', async () => {
    runSql(testFolder.path, 'CREATE TABLE songs (title TEXT)');
    await expect(open()).rejects.toThrow();
    runSql(testFolder.path, 'DROP TABLE songs; VACUUM');
    await submit(await open(), 't1');
  });
});

test('a group of which one write fails is not written at all', () => {
  const database = openDatabase(testFolder.path);
  database.apply(new Map([['kept', '1']]), new Set());
  const unwritable = new Map([
    ['a', '1'],
    ['b', null as never],
  ]);
  expect(() => database.apply(unwritable, new Set(['kept']))).toThrow();
  expect(() =>
    database.apply(
      new Map([
        ['kept', '2'],
        ['c', {} as never],
      ]),
      new Set(),
    ),
  ).toThrow();
  expect(database.scan('', '~', 10, false)).toEqual([['kept', '1']]);
  database.apply(new Map([['a', '2']]), new Set(['kept']));
  expect(database.scan('', '~', 10, false)).toEqual([['a', '2']]);
  database.close();
});

test('a pause moves the log into the database, and what follows is in the log again', async () => {
  const store = await open();
  const copy = `${testFolder.path}-without-log`;
  const countWithoutLog = (): number => {
    copyFileSync(testFolder.path, copy);
    const sqlite = new DatabaseSync(copy);
    try {
      return Number(sqlite.prepare("SELECT count(*) AS n FROM kv WHERE key LIKE 'open/%'").get()?.n);
    } catch {
      return -1; // It was copied while the log was moved.
    } finally {
      sqlite.close();
    }
  };
  for (let n = 0; n < 40; n += 1) await submit(store, `t${n}`);
  await until('all rows are in the database', () => countWithoutLog() === 40);
  await submit(store, 'later');
  expect(countWithoutLog()).toBe(40);
  expect((await store.get('task', 'later'))?.value.status).toBe('pending');
});

test('ids with different lone surrogates stay different, although UTF-8 cannot encode them', async () => {
  const store = await open();
  const ids = ['a\ud800', 'a\ud801', 'a\udc00', 'a\ufffd', 'a'];
  for (const [progress, id] of ids.entries()) await submit(store, id, { progress });
  for (const id of ids) await settle(store, id);
  await store.close();
  const again = await open();
  for (const [progress, id] of ids.entries())
    expect((await readState(again, id)).value.progress).toBe(progress);
});

test('values are read exactly as they were written, including large ones and every character', async () => {
  const store = await open();
  const characters = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).join('');
  const payload = {
    characters,
    lone: '\ud800x',
    large: 'é'.repeat(2_000_000),
    deep: JSON.parse('{"__proto__":{"a":[1e21,-0.5,null]}}'),
  };
  must(
    await store.commit({
      writes: [{ kind: 'input', id: 't1', expect: 'absent', value: buildInput('t1', { payload }) }],
    }),
  );
  await store.close();
  const stored = (await (await open()).get('input', 't1'))?.value.payload;
  expect(JSON.parse(JSON.stringify(stored))).toEqual(payload);
});

describeKilled('embedded', () => ({ path: testFolder.path, open }));
