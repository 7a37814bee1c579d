/** How the SQLite engine opens its file: its lock, its identity, and a process that is killed. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openFile, openReader } from '../../server/engines/sqlite/connection.ts';
import { openFileStore } from '../../server/engines/sqlite/open.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { describeKilled } from './killed-writer.suite.ts';
import { createTestFolder } from './sqlite-under-test.ts';
import { readState, register, submit, until } from './store-under-test.ts';

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
  const store = await openFileStore(path, { clock, log: SILENT });
  opened.push(store);
  return store;
}

/** The error of an opening; time advances meanwhile. */
async function awaitError(path = testFolder.path): Promise<string> {
  let message: string | undefined;
  open(path).catch((error: Error) => {
    message = error.message;
  });
  await until('the opening is refused', async () => {
    await clock.advance(1_000);
    return message !== undefined;
  });
  return message ?? '';
}

function runSql(sql: string, path = testFolder.path): void {
  const sqlite = new DatabaseSync(path);
  sqlite.exec(sql);
  sqlite.close();
}

describe('opening', () => {
  test('creates the folder and the file, and keeps what is stored', async () => {
    const path = join(testFolder.folder, 'a/b/gateway.db');
    const store = await open(path);
    await submit(store, 't1');
    await store.close();
    expect(existsSync(path)).toBe(true);
    expect((await readState(await open(path), 't1')).value.status).toBe('pending');
  });

  test('refuses a second opener, naming file and lock; the first keeps working', async () => {
    const first = await open();
    expect(await awaitError()).toMatch(/tasks\.db is in use by another process.*tasks\.db\.lock/);
    expect(await submit(first, 't1')).toBeTypeOf('string');
  });

  test('waits for the one before to end', async () => {
    const first = await open();
    const second = open();
    await until('it waits', () => clock.sleeping() > 0);
    await first.close();
    await clock.drive(second);
    expect(await submit(await second, 't1')).toBeTypeOf('string');
  });

  test('refuses a file with two names by a hard link under both, whether or not it is open', async () => {
    const first = await open();
    await submit(first, 't1');
    const linked = join(testFolder.folder, 'linked.db');
    linkSync(testFolder.path, linked);
    expect(await awaitError(linked)).toMatch(/linked\.db has 2 names \(hard links\).*Copy the file/);
    await first.close();
    expect(await awaitError()).toMatch(/tasks\.db has 2 names/);
    rmSync(linked);
    expect((await readState(await open(), 't1')).value.status).toBe('pending');
  });

  test('refuses a file that is open under another name by a mount', { tags: 'mount' }, async () => {
    const first = await open();
    await submit(first, 't1');
    const mounted = join(testFolder.folder, 'mounted.db');
    writeFileSync(mounted, '');
    execFileSync('mount', ['--bind', testFolder.path, mounted], { stdio: 'ignore' });
    try {
      expect(await awaitError(mounted)).toMatch(
        /mounted\.db is in use by another process under another name/,
      );
      await first.close();
      const second = await open(mounted);
      expect((await readState(second, 't1')).value.status).toBe('pending');
      await second.close();
    } finally {
      execFileSync('umount', [mounted]);
    }
  });

  test.each([
    ['a file that is no database', () => writeFileSync(testFolder.path, 'x'.repeat(4_096)), /not a database/],
    ['the database of another program', () => runSql('CREATE TABLE t (a)'), /belongs to another program/],
  ])('refuses %s, and leaves it as it is', async (_what, create, message) => {
    create();
    const before = join(testFolder.folder, 'before');
    copyFileSync(testFolder.path, before);
    expect(await awaitError()).toMatch(message);
    expect(readFileSync(testFolder.path).equals(readFileSync(before))).toBe(true);
    expect(existsSync(`${testFolder.path}-wal`)).toBe(false);
  });

  test('refuses another version, naming both', async () => {
    await (await open()).close();
    runSql('PRAGMA user_version = 2');
    expect(await awaitError()).toMatch(/format version 2, this gateway reads version 1\./);
  });

  test('finishes a creation that was cut short', async () => {
    writeFileSync(testFolder.path, '');
    expect(await register(await open(), 'A')).toBeTypeOf('string');
  });

  test('leaves no lock behind when it fails', async () => {
    writeFileSync(testFolder.path, 'x'.repeat(4_096));
    await awaitError();
    writeFileSync(testFolder.path, '');
    expect(await submit(await open(), 't1')).toBeTypeOf('string');
  });
});

test('Another writer makes each write fail while it holds its transaction, and no longer.', async () => {
  const store = await open();
  const other = new DatabaseSync(testFolder.path);
  other.exec('BEGIN IMMEDIATE');
  await expect(submit(store, 't1')).rejects.toThrow('database is locked');
  other.close();
  await until('it writes again', async () => {
    await clock.advance(1_000);
    return store.health().ok;
  });
  expect(await submit(store, 't2')).toBeTypeOf('string');
});

test('A log that grew while one reader read is cut to 64 MiB by the commits after it.', () => {
  const writer = openFile(testFolder.path);
  const logBytes = (): number => statSync(`${testFolder.path}-wal`).size;
  const write = (bytes: number): void => writer.exec(`INSERT INTO log_probe VALUES (zeroblob(${bytes}))`);
  writer.exec('CREATE TABLE log_probe (bytes)');
  const reader = openReader(testFolder.path);
  reader.exec('BEGIN; SELECT * FROM log_probe');
  for (let written = 0; written < 100; written += 10) write(10 * 2 ** 20);
  expect(logBytes()).toBeGreaterThan(100 * 2 ** 20);
  reader.close();
  for (let commits = 0; commits < 2; commits += 1) write(1);
  expect(logBytes()).toBe(64 * 2 ** 20);
  writer.close();
});

describeKilled(() => ({ path: testFolder.path, open }));
