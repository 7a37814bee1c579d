/**
 * The configuration file: contexts are set, chosen, listed and removed, and their secrets go nowhere else.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { DEFAULT_AUTH, type GlobalOptions, readTarget } from '../../sdk/cli/connection.ts';
import { findContextPath } from '../../sdk/cli/contexts.ts';
import type { Environment } from '../../sdk/cli/terminal/terminal.ts';
import { startProcess } from './cli-process.ts';
import { runCommand } from './command-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'task-gateway-contexts-'));
const path = join(folder, 'task-gateway', 'config.json');
const env = { XDG_CONFIG_HOME: folder };

beforeEach(() => rmSync(join(folder, 'task-gateway'), { recursive: true, force: true }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `config` with these words. */
const config = (words: readonly string[], more: Record<string, string> = {}) =>
  runCommand(['config', ...words], { env: { ...env, ...more } });

const target = (options: GlobalOptions, more: Environment = {}, needsAdmin = true) =>
  readTarget(options, { ...env, ...more }, needsAdmin);

describe('config', () => {
  test('set, use, list and remove; the file is its owner’s alone', async () => {
    expect(await config(['list'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('There is no context'),
    });
    const set = await config([
      ...['set', 'prod', '--url', 'https://p.example', '--auth', 'prod-secret', '--admin-auth-env'],
      ...['PROD_ADMIN'],
    ]);
    expect(set).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Created context prod: https://p.example. It is the current one.\n',
    });
    await config(['set', '本地', '--url', 'http://127.0.0.1:1', '--auth-command', 'echo local-secret']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'task-gateway')).mode & 0o777).toBe(0o700);
    expect((await config(['list'])).stdout).toBe(
      [
        'NAME  CURRENT  URL                 AUTH                       ADMIN AUTH',
        'prod  yes      https://p.example   stored                     variable PROD_ADMIN',
        '本地           http://127.0.0.1:1  command echo local-secret  –',
        '',
      ].join('\n'),
    );
    expect(await config(['use', '本地'])).toMatchObject({ code: 0 });
    expect(JSON.parse((await config(['list', '-o', 'json'])).stdout)).toMatchObject([
      { name: 'prod', current: false, auth: 'stored' },
      { name: '本地', current: true, admin_auth: null },
    ]);
    expect((await config(['list', '-o', 'json'])).stdout).not.toContain('prod-secret');
    expect(await config(['remove', '本地'])).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ current: null, contexts: { prod: {} } });
  });

  test('set changes only what is given; another source of a secret replaces the first', async () => {
    await config(['set', 'a', '--url', 'http://one', '--auth', 'one-secret', '--admin-auth', 'one-admin']);
    await config(['set', 'a', '--url', 'http://two']);
    await config(['set', 'a', '--auth-env', 'TWO']);
    const { contexts } = JSON.parse(readFileSync(path, 'utf8'));
    expect(contexts.a).toEqual({ url: 'http://two', auth_env: 'TWO', admin_auth: 'one-admin' });
    const file = join(folder, 'secrets');
    writeFileSync(file, 'TASK_GATEWAY_AUTH=file-secret\nTASK_GATEWAY_ADMIN_AUTH=file-admin\n');
    await config(['set', 'a', '--auth-file', file]);
    expect(target({}, { TWO: 'x' })).toMatchObject({ auth: 'file-secret', adminAuth: 'one-admin' });
    await config(['set', 'a', '--auth', 'again']);
    expect(target({})).toMatchObject({ auth: 'again' });
    expect(readFileSync(path, 'utf8')).not.toContain('one-secret');
  });

  test.each([
    [['set', 'x'], /Give --url/],
    [['set', 'x', '--url', 'ftp://x'], /--url must be an http/],
    [['set', 'a b', '--url', 'http://x'], /can't be a name/],
    [['set', '__proto__', '--url', 'http://x'], /can't be a name/],
    [
      ['set', 'x', '--url', 'http://x', '--auth', 'abc-secret', '--auth-env', 'B'],
      /one source of the gateway secret/,
    ],
    [['set', 'x', '--url', 'http://x', '--auth-file', '/nowhere'], /can't be read/],
    [['use', 'x'], /no context "x" \(there are: none\)/],
    [['remove', 'toString'], /no context "toString"/],
  ])('%j is refused with exit code 2, and nothing is written', async (words, text) => {
    expect(await config(words)).toMatchObject({ code: 2, stderr: expect.stringMatching(text) });
    expect(existsSync(path)).toBe(false);
  });

  test('commands that change the file at once lose nothing of each other', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `at-once-${index}`);
    const exits = await Promise.all(
      names.map((name) => startProcess(`config set ${name} --url http://x`, { env }).waitForExit()),
    );
    expect(exits.map(({ code }) => code)).toEqual(names.map(() => 0));
    expect(Object.keys(JSON.parse(readFileSync(path, 'utf8')).contexts).toSorted()).toEqual(names.toSorted());
    expect(readdirSync(join(folder, 'task-gateway'))).toEqual(['config.json']);
  });

  test('a command that crashed while it changed the file is named after five seconds, and what to remove', async () => {
    await config(['set', 'x', '--url', 'http://x']);
    writeFileSync(`${path}.lock`, '');
    const waits = vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out');
    try {
      const { code, stderr } = await config(['set', 'y', '--url', 'http://y']);
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`remove "${path}.lock"`),
      });
      expect(waits.mock.calls.reduce((sum, [, , , ms = 0]) => sum + ms, 0)).toBe(5_000);
    } finally {
      waits.mockRestore();
    }
    rmSync(`${path}.lock`);
    expect(await config(['set', 'y', '--url', 'http://y'])).toMatchObject({ code: 0 });
  });

  test('what has no end is refused after as much as the file may hold', async () => {
    const endless = { TASK_GATEWAY_CONFIG: '/dev/zero' };
    expect(await config(['list'], endless)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/larger than/),
    });
    expect(() => target({ authFile: '/dev/zero' })).toThrow('--auth-file "/dev/zero" is larger than 64 KiB.');
    const file = join(folder, 'long-secret');
    writeFileSync(file, 'x'.repeat(65_537));
    expect(() => target({ authFile: file })).toThrow('is larger than 64 KiB.');
    writeFileSync(file, `${'#'.repeat(65_529)}\nsecret`);
    expect(target({ authFile: file })).toMatchObject({ auth: 'secret' });
  });

  test('a link to the file stays a link', async () => {
    const elsewhere = join(folder, 'dotfiles.json');
    writeFileSync(elsewhere, '{"contexts":{}}');
    await config(['set', 'x', '--url', 'http://x']);
    rmSync(path);
    symlinkSync(elsewhere, path);
    await config(['set', 'y', '--url', 'http://y']);
    expect(JSON.parse(readFileSync(elsewhere, 'utf8')).contexts).toEqual({ y: { url: 'http://y' } });
  });
});

describe('the target comes from a context', () => {
  beforeEach(async () => {
    await config(['set', 'one', '--url', 'http://one', '--auth', 'one-secret', '--admin-auth', 'one-admin']);
    await config(['set', 'two', '--url', 'http://two', '--auth-env', 'TWO_SECRET']);
  });
  const variables = { TASK_GATEWAY_URL: 'http://env', TASK_GATEWAY_AUTH: 'env-secret' };

  test('the current one, unless an option or a variable names a gateway', () => {
    expect(target({})).toMatchObject({ url: 'http://one', auth: 'one-secret', adminAuth: 'one-admin' });
    expect(target({}, variables)).toMatchObject({
      url: 'http://env',
      auth: 'env-secret',
      adminAuth: undefined,
    });
    expect(target({}, { TASK_GATEWAY_AUTH: 'mine' })).toMatchObject({ url: 'http://one', auth: 'mine' });
    expect(target({ auth: 'typed' })).toMatchObject({ url: 'http://one', auth: 'typed' });
  });

  test('a named one has priority over the variables', () => {
    const env = { ...variables, TWO_SECRET: 'two-secret' };
    expect(target({ context: 'two' }, env)).toMatchObject({ url: 'http://two', auth: 'two-secret' });
    expect(target({}, { ...env, TASK_GATEWAY_CONTEXT: 'two' })).toMatchObject({ url: 'http://two' });
    expect(target({ context: 'one' }, { ...env, TASK_GATEWAY_CONTEXT: 'two' })).toMatchObject({
      url: 'http://one',
    });
  });

  test('its secrets never go to another address, nor the variables’ secrets to its own', () => {
    expect(target({ url: 'http://other' })).toEqual({
      url: 'http://other',
      auth: DEFAULT_AUTH,
      isDefaultAuth: true,
      adminAuth: undefined,
      hasHeaders: true,
    });
    const bare = target(
      { context: 'two' },
      { TWO_SECRET: 'two-secret', TASK_GATEWAY_ADMIN_AUTH: 'env-admin' },
    );
    expect(bare.adminAuth).toBeUndefined();
    // Headers may be credentials too: those of the environment are for the environment's gateway.
    expect([bare.hasHeaders, target({}).hasHeaders, target({}, variables).hasHeaders]).toEqual([
      ...[false, true, true],
    ]);
    expect(() => target({ context: 'one', url: 'http://x' })).toThrow('--context or --url, not both');
  });

  test('a command prints a secret each time; the admin’s only for who needs it', async () => {
    const count = join(folder, 'count');
    await config([
      'set',
      'c',
      '--url',
      'http://c',
      '--auth-command',
      'echo c-secret; echo more',
      '--admin-auth-command',
      `echo x >>${count}; echo c-admin`,
    ]);
    expect(target({ context: 'c' }, {}, false)).toMatchObject({ auth: 'c-secret', adminAuth: undefined });
    expect(existsSync(count)).toBe(false);
    expect(target({ context: 'c' })).toMatchObject({ auth: 'c-secret', adminAuth: 'c-admin' });
    expect(readFileSync(count, 'utf8')).toBe('x\n');
  });

  test.each([
    ['two', {}, 'takes a secret from TWO_SECRET, which is not set'],
    ['three', {}, 'no context "three" (there are: one, two)'],
  ])('what can’t work is refused: %s', (context, more, text) => {
    expect(() => target({ context }, more)).toThrow(text);
  });

  test('a command that fails is refused, without its output', async () => {
    await config(['set', 'bad', '--url', 'http://c', '--auth-command', 'echo part-of-secret; exit 3']);
    expect(() => target({ context: 'bad' })).toThrow('which failed: it ended with exit code 3');
    await config(['set', 'empty', '--url', 'http://c', '--auth-command', 'true']);
    expect(() => target({ context: 'empty' })).toThrow('it printed nothing');
  });

  test.each([
    ['{"contexts":{"x":{"url":"http://x","auth":"file-secret"}', 'it is not JSON'],
    ['[]', 'no object "contexts"'],
    ['{"contexts":{"x":{"auth":"file-secret"}}}', 'context "x" has no "url"'],
    ['{"contexts":{"x":{"url":"http://x","aut":"file-secret"}}}', '"aut" of context "x" is unknown'],
    ['{"current":5,"contexts":{}}', '"current" is not a name'],
  ])('a file with %j is refused, without its secrets', (text, why) => {
    writeFileSync(path, text);
    expect(() => target({})).toThrow(why);
    expect(() => target({})).not.toThrow('file-secret');
    expect(target({ url: 'http://x' }).url).toBe('http://x');
  });

  test('a file with secrets that others can read is refused', () => {
    chmodSync(path, 0o644);
    expect(() => target({})).toThrow(`run chmod 600 "${path}"`);
  });
});

test('the file is found by a variable, or below the user’s folder', () => {
  expect(findContextPath({ TASK_GATEWAY_CONFIG: '/a/b', HOME: '/h' })).toBe('/a/b');
  expect(findContextPath({ XDG_CONFIG_HOME: '/x', HOME: '/h' })).toBe('/x/task-gateway/config.json');
  expect(findContextPath({ HOME: '/h' })).toBe('/h/.config/task-gateway/config.json');
  expect(findContextPath({})).toBeUndefined();
});

describe('while a file without an end is read, SIGTERM ends the command', () => {
  const fifo = join(folder, 'fifo');
  beforeEach(() => {
    rmSync(fifo, { force: true });
    execFileSync('mkfifo', [fifo]);
  });

  test.each<[string, readonly string[], Record<string, string>]>([
    ['the file of contexts', ['task', 'get', 'x'], { TASK_GATEWAY_CONFIG: fifo }],
    ['--auth-file', ['task', 'get', 'x', '--auth-file', fifo], {}],
    [
      'a payload',
      ['task', 'submit', 'x', '--tag', 'x', `@${fifo}`],
      { TASK_GATEWAY_URL: 'http://127.0.0.1:1' },
    ],
  ])('%s', async (_title, words, more) => {
    const command = startProcess(words, { env: { HOME: folder, ...more } });
    // Succeeds as soon as the command has begun to read.
    const writer = await vi.waitFor(() => openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK), {
      timeout: 60_000,
      interval: 10,
    });
    command.child.kill('SIGTERM');
    try {
      await command.waitForExit();
      expect(command.child.signalCode).toBe('SIGTERM');
    } finally {
      closeSync(writer);
      await command.kill();
    }
  });
});
