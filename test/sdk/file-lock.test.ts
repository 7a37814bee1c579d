/** The lock of an outbox has one holder, however many processes start at once, and by whatever name. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type FileLock, lockFile } from '../../sdk/agent/file-lock.ts';
import { createOutbox } from '../../sdk/agent/outbox.ts';

const ROUNDS = Number(process.env.LOCK_ROUNDS ?? 50);
const folder = mkdtempSync(join(tmpdir(), 'task-gateway-lock-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Locks the file at the parent's word, and releases it at the next; what is left is what a crash leaves. */
const CONTENDER = `
  const { lockFile } = await import(process.env.LOCK);
  let lock;
  process.on('message', async (word) => {
    if (word === 'lock') lock = await lockFile(process.env.FILE).catch(() => undefined);
    else await lock?.release();
    process.send(lock !== undefined);
  });
  process.send(true);`;

async function ask(contender: ChildProcess, word: string): Promise<boolean> {
  const answer = once(contender, 'message');
  contender.send(word);
  return (await answer)[0] as boolean;
}

test.each([2, 4, 8])('%i processes at once: one has the lock, round after round', async (count) => {
  const program = join(folder, 'contender.mjs');
  writeFileSync(program, CONTENDER);
  const env = {
    FILE: join(folder, `contended-${count}`),
    LOCK: new URL('../../sdk/agent/file-lock.ts', import.meta.url).href,
  };
  const contenders = Array.from({ length: count }, () => fork(program, { env, execArgv: [] }));
  try {
    await Promise.all(contenders.map((one) => once(one, 'message')));
    for (let round = 1; round <= ROUNDS; round += 1) {
      const held = await Promise.all(contenders.map((one) => ask(one, 'lock')));
      expect(held.filter(Boolean), `round ${round}`).toHaveLength(1);
      await Promise.all(contenders.map((one) => ask(one, 'release')));
    }
  } finally {
    for (const one of contenders) one.kill('SIGKILL');
  }
});

test('any number of starts at once in one process: one has the lock; what they leave does not grow', async () => {
  const file = join(folder, 'own');
  for (let round = 0; round < ROUNDS; round += 1) {
    const locks = await Promise.allSettled(Array.from({ length: 5 }, () => lockFile(file)));
    const held = locks.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(held, `round ${round}`).toHaveLength(1);
    await held[0]?.release();
  }
  expect(readdirSync(`${file}.lock`).length).toBeLessThanOrEqual(3);
});

test('a lock that was given back is free by a file, also while a program that is being started has its socket', async () => {
  const file = join(folder, 'given-back');
  const findLast = (): string => {
    const numbers = readdirSync(`${file}.lock`).filter((name) => /^\d+$/.test(name));
    return join(`${file}.lock`, `${Math.max(...numbers.map(Number))}`);
  };
  for (let round = 0; round < 3; round += 1) {
    const lock = await lockFile(file);
    expect(lstatSync(findLast()).isSocket()).toBe(true);
    await lock.release();
    expect(lstatSync(findLast()).isFile()).toBe(true);
    expect(readdirSync(`${file}.lock`).length).toBeLessThanOrEqual(3);
  }
});

test('all names of a file are one: a link to it, to its folder, a relative path', async () => {
  const real = join(folder, 'real');
  mkdirSync(real);
  const file = join(real, 'outbox');
  writeFileSync(file, '');
  symlinkSync(file, join(folder, 'link'));
  symlinkSync(real, join(folder, 'folder-link'));
  const lock = await lockFile(file);
  for (const name of [
    join(folder, 'link'),
    join(folder, 'folder-link', 'outbox'),
    relative(process.cwd(), file),
  ]) {
    await expect(lockFile(name), name).rejects.toMatchObject({ code: 'invalid_option' });
  }
  await lock.release();
});

test('a path too long for sockets is locked too, also by a short link to it', async () => {
  const deep = join(folder, 'x'.repeat(100));
  mkdirSync(deep);
  const file = join(deep, 'outbox');
  const short = join(folder, 'short');
  symlinkSync(deep, short);
  const lock: FileLock = await lockFile(file);
  await expect(lockFile(join(short, 'outbox'))).rejects.toMatchObject({ code: 'invalid_option' });
  expect(existsSync(`${file}.lock`)).toBe(false);
  await lock.release();
  await (await lockFile(join(short, 'outbox'))).release();
});

test('an outbox with a second name, a hard link, is refused under both', async () => {
  const file = join(folder, 'hard');
  writeFileSync(file, '');
  linkSync(file, join(folder, 'hard-link'));
  for (const name of [file, join(folder, 'hard-link')]) {
    const outbox = createOutbox(name, () => undefined);
    await expect(outbox.open()).rejects.toThrow('has another name (a hard link)');
    await outbox.close();
  }
});
