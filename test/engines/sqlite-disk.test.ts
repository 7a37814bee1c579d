/** The file of the SQLite engine and its disk: little space, a file that is moved, damage, a copy. */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { copyDatabase } from '../../server/engines/sqlite/backup.ts';
import { openMemory } from '../../server/engines/sqlite/connection.ts';
import type { FileLook } from '../../server/engines/sqlite/file-watch.ts';
import { findDamage } from '../../server/engines/sqlite/inspection.ts';
import { openFileStore } from '../../server/engines/sqlite/open.ts';
import { createSqliteStore } from '../../server/engines/sqlite/store.ts';
import { writeHere } from '../../server/engines/sqlite/writer.ts';
import { type Store, StoreRefused } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { begin, changeOutput, readPieces } from './output-calls.ts';
import { createTestFolder } from './sqlite-under-test.ts';
import {
  assign,
  buildAgent,
  endingOf,
  must,
  readState,
  register,
  submit,
  until,
  writeTask,
} from './store-under-test.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

let clock: FakeClock;
beforeEach(() => {
  clock = createFakeClock();
});

describe('a disk with less space than', () => {
  let look: FileLook;
  let lines: string[];
  let store: Store;

  beforeEach(() => {
    look = { isMoved: false, space: { freeBytes: 10 * GIB, totalBytes: 100 * GIB } };
    lines = [];
    const note = (level: string) => (_fields: object, message: string) =>
      void lines.push(`${level}: ${message}`);
    const log = { ...SILENT, error: note('error'), info: note('info') };
    const reader = openMemory();
    const tables = { writer: writeHere(reader), reader, isShared: true, look: async () => look };
    store = createSqliteStore(tables, { clock, log });
  });
  afterEach(() => store.close());

  /** The disk has this much space, and the store has looked. */
  async function leave(freeBytes: number, totalBytes = 100 * GIB): Promise<void> {
    look = { ...look, space: { freeBytes, totalBytes } };
    await clock.advance(500);
  }

  test('128 MiB takes no new tasks and agents, and everything that ends or changes', async () => {
    await register(store, 'A');
    await submit(store, 't1');
    must(await assign(store, 't1', 'A'));
    await leave(128 * MIB);
    await submit(store, 'last');
    await leave(128 * MIB - 1);
    await expect(submit(store, 'more')).rejects.toThrow(StoreRefused);
    await expect(
      store.commit({ writes: [{ kind: 'agent', id: 'more', expect: 'absent', value: buildAgent('more') }] }),
    ).rejects.toThrow(/nearly full: it takes no new tasks, agents and output now/);
    expect(store.health()).toMatchObject({
      ok: true,
      isNearlyFull: true,
      warning: expect.stringMatching(/nearly full/),
    });
    must(await store.commit(await endingOf(store, 't1')));
    const last = await readState(store, 'last');
    must(await store.commit(writeTask('last', last, { ...last.value, result: { a: 'x'.repeat(MIB) } })));
    expect((await readState(store, 't1')).value.status).toBe('success');
  });

  test('128 MiB takes no output but what is needed, to the last', async () => {
    await register(store, 'A');
    await submit(store, 't1');
    must(await assign(store, 't1', 'A'));
    await begin(store, 't1', 'w', ['{"text":"a"}']);
    const pieces = ['{"question":{}}'];
    for (const [from, freeBytes] of [
      [1, 128 * MIB - 1],
      [2, MIB],
    ] as const) {
      await leave(freeBytes);
      const by = { writer: 'w', from };
      await expect(store.appendOutput({ request_id: 't1', pieces, by })).rejects.toThrow(StoreRefused);
      await expect(changeOutput(store, 't1', { append: { pieces, by } })).rejects.toThrow(StoreRefused);
      must(await changeOutput(store, 't1', { append: { pieces, by, isNeeded: true } }));
      must(await changeOutput(store, 't1', { append: { pieces } }));
      // It asks how many are stored, before the question is committed.
      expect(await store.appendOutput({ request_id: 't1', pieces: [], by })).toMatchObject({ ok: true });
    }
    expect(await readPieces(store, 't1')).toHaveLength(5);
    must(await store.commit(await endingOf(store, 't1')));
  });

  test('an eighth of a small file system', async () => {
    await leave(8 * MIB, 64 * MIB);
    expect(store.health()).toEqual({ ok: true });
    await leave(8 * MIB - 1, 64 * MIB);
    expect(store.health()).toMatchObject({ isNearlyFull: true });
  });

  test('that has space again with an eighth more; each change is one line', async () => {
    for (const mib of [200, 100, 90, 130, 140, 143, 144, 300]) await leave(mib * MIB);
    expect(lines).toEqual([
      'error: the disk of the store is nearly full: new tasks, agents and output are refused',
      'info: the disk of the store has space again: everything is accepted',
    ]);
  });
});

describe('a file', () => {
  let testFolder: ReturnType<typeof createTestFolder>;
  let store: Store;
  let lines: string[];

  beforeEach(async () => {
    testFolder = createTestFolder();
    lines = [];
    const note = (fields: { damage?: unknown }, message: string): void =>
      void lines.push(`${message} ${fields.damage ?? ''}`);
    store = await openFileStore(testFolder.path, { clock, log: { ...SILENT, error: note, debug: note } });
    await register(store, 'A');
    await submit(store, 't1');
  });
  afterEach(async () => {
    await store.close();
    testFolder.remove();
  });

  const isOut = (): boolean => !store.health().ok;

  /** The next look at the file is half a second after the one before. */
  async function noticeOutage(): Promise<void> {
    await clock.advance(500);
    await until('it is noticed', isOut);
  }

  test('that is moved takes no writes, and no other is created; back, it goes on', async () => {
    const moved = join(testFolder.folder, 'moved.db');
    renameSync(testFolder.path, moved);
    await noticeOutage();
    await expect(submit(store, 't2')).rejects.toThrow(/tasks\.db was moved or removed/);
    expect(store.health()).toMatchObject({ ok: false, isReadable: true, outage: { kind: 'file_moved' } });
    expect((await readState(store, 't1')).value.status).toBe('pending');
    await clock.advance(250);
    expect(existsSync(testFolder.path)).toBe(false);
    renameSync(moved, testFolder.path);
    await until(
      'it takes writes',
      () => !isOut(),
      () => clock.advance(250),
    );
    await submit(store, 't2');
    await store.close();
    store = await openFileStore(testFolder.path, { clock, log: SILENT });
    expect((await readState(store, 't1')).value.status).toBe('pending');
    expect((await readState(store, 't2')).value.status).toBe('pending');
  });

  test('that is removed is noticed within two seconds, although nothing is written', async () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(testFolder.path + suffix);
    await noticeOutage();
    expect(store.health()).toMatchObject({ outage: { kind: 'file_moved' } });
  });

  test('that another one has replaced takes no writes', async () => {
    const copy = join(testFolder.folder, 'copy.db');
    copyDatabase(testFolder.path, copy);
    renameSync(copy, testFolder.path);
    await noticeOutage();
    await expect(submit(store, 't2')).rejects.toThrow(/was moved or removed/);
  });

  test('is copied while it is used; the copy is checked and says what it holds', async () => {
    const copy = join(testFolder.folder, 'copy.db');
    expect(copyDatabase(testFolder.path, copy)).toEqual({
      bytes: readFileSync(copy).length,
      openTasks: 1,
      agents: 1,
    });
    await submit(store, 't2');
    const other = await openFileStore(copy, { clock, log: SILENT });
    expect((await readState(other, 't1')).value.status).toBe('pending');
    expect(await other.get('task', 't2')).toBeUndefined();
    await other.close();
  });

  test.each([
    ['a task too many', 'UPDATE count SET pending = 2', /counts 2 open tasks and 1 agents, and has 1 and 1/],
    ['no agent', 'UPDATE count SET agents = 0', /counts 1 open tasks and 0 agents, and has 1 and 1/],
  ])('that counts %s is not copied', (_what, sql, message) => {
    const sqlite = new DatabaseSync(testFolder.path);
    sqlite.exec(sql);
    sqlite.close();
    const copy = join(testFolder.folder, 'copy.db');
    expect(() => copyDatabase(testFolder.path, copy)).toThrow(message);
    expect([existsSync(copy), existsSync(`${copy}.partial`)]).toEqual([false, false]);
  });

  test('is inspected a second after its start, and damage is named', async () => {
    await clock.advance(1_000);
    await until('it is inspected', async () => lines.length > 0);
    expect(lines).toEqual(['the database was inspected: no damage ']);
    await store.close();
    const damaged = join(testFolder.folder, 'damaged.db');
    copyFileSync(testFolder.path, damaged);
    const bytes = readFileSync(damaged);
    // The first page behind the schema: the head of its tree is overwritten.
    bytes.fill(0xff, 2 * 4_096, 2 * 4_096 + 16);
    writeFileSync(damaged, bytes);
    expect(findDamage(damaged)).toMatch(/the pages of .*damaged\.db are damaged \(/);
    lines.length = 0;
    const log = { ...SILENT, error: (fields: object) => void lines.push(JSON.stringify(fields)) };
    store = await openFileStore(damaged, { clock, log });
    await clock.advance(1_000);
    await until('it is inspected', async () => lines.length > 0);
    expect(lines[0]).toContain('damaged.db are damaged');
  });
});
