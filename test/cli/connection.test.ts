/** Which gateway and which secrets: options before the file before the environment; and no secret is ever shown. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseListen } from '../../sdk/cli/commands/exec.ts';
import { DEFAULT_AUTH, readTarget } from '../../sdk/cli/connection.ts';
import { describeBody, redactSecrets } from '../../sdk/cli/terminal/redaction.ts';
import { createScreen } from '../../sdk/cli/terminal/terminal.ts';
import { createTracingFetch } from '../../sdk/cli/trace.ts';
import { DEFAULT_GATEWAY_AUTH } from '../../server/config/settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'task-gateway-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileWith(content: string | Uint8Array): string {
  const path = join(folder, `secrets-${Math.random()}`);
  writeFileSync(path, content);
  return path;
}

describe('the target', () => {
  const env = {
    TASK_GATEWAY_URL: 'http://env:1',
    TASK_GATEWAY_AUTH: 'env-secret',
    TASK_GATEWAY_ADMIN_AUTH: 'env-admin',
  };

  test('comes from the environment, and an option beats it', () => {
    expect(readTarget({}, env)).toEqual({
      ...{ url: 'http://env:1', auth: 'env-secret', adminAuth: 'env-admin', isDefaultAuth: false },
    });
    expect(readTarget({ url: 'http://o', auth: 'o-secret', adminAuth: 'o-admin' }, env)).toEqual({
      ...{ url: 'http://o', auth: 'o-secret', adminAuth: 'o-admin', isDefaultAuth: false },
    });
  });

  test('without anything it is a gateway on this machine that was given no secret', () => {
    const nothing = { TASK_GATEWAY_URL: '', TASK_GATEWAY_AUTH: '', TASK_GATEWAY_ADMIN_AUTH: '' };
    for (const empty of [{}, nothing]) {
      expect(readTarget({}, empty)).toEqual({
        ...{ url: 'http://127.0.0.1:8080', auth: DEFAULT_AUTH, adminAuth: undefined, isDefaultAuth: true },
      });
    }
    expect(DEFAULT_AUTH).toBe(DEFAULT_GATEWAY_AUTH);
  });

  test.each([
    ['file-secret\n', { auth: 'file-secret', adminAuth: 'env-admin' }],
    ['\ufeff# ours\r\nfile-secret\r\n', { auth: 'file-secret', adminAuth: 'env-admin' }],
    [
      'TASK_GATEWAY_AUTH=file=secret\nTASK_GATEWAY_ADMIN_AUTH = file-admin',
      { auth: 'file=secret', adminAuth: 'file-admin' },
    ],
    ['TASK_GATEWAY_ADMIN_AUTH=file-admin', { auth: 'env-secret', adminAuth: 'file-admin' }],
  ])('a file with %j beats the environment', (content, secrets) => {
    expect(readTarget({ authFile: fileWith(content) }, env)).toMatchObject(secrets);
  });

  test.each([
    [{ auth: 'top-secret', authFile: 'x' }, '--auth or --auth-file, not both'],
    [{ authFile: '/nowhere/at/all' }, 'ENOENT'],
    [{ authFile: fileWith('') }, 'must hold the gateway secret'],
    [{ authFile: fileWith('top-secret\nanother') }, 'must hold the gateway secret'],
    [{ authFile: fileWith(Buffer.from('\ufefftop-secret', 'utf16le')) }, 'UTF-16'],
  ])('%j is refused without repeating a secret', (options, words) => {
    expect(() => readTarget(options, env)).toThrow(words);
    expect(() => readTarget(options, env)).not.toThrow('top-secret');
  });
});

test.each([
  ['127.0.0.1:9000', { host: '127.0.0.1', port: 9000 }],
  [':9000', { port: 9000 }],
  ['[::1]:0', { host: '::1', port: 0 }],
  ['host.example:80/tasks/in', { host: 'host.example', port: 80, path: '/tasks/in' }],
])('--listen %s is understood', (text, listen) => {
  expect(parseListen(text)).toEqual(listen);
});

test.each(['9000', 'host', 'host:', 'host:70000', '::1:80', 'http://x:80'])(
  '--listen %s is refused',
  (text) => {
    expect(() => parseListen(text)).toThrow('give HOST:PORT');
  },
);

/** A stream that keeps what is written to it. */
function createStream(isTTY: boolean) {
  const written: string[] = [];
  return {
    ...{ isTTY, columns: 40 },
    written,
    write(text: string, done?: () => void) {
      written.push(text);
      done?.();
    },
  };
}

describe('the screen', () => {
  test('strikes secrets out of all it says, in every form they can take', () => {
    const stderr = createStream(true);
    const screen = createScreen(createStream(false), stderr, {});
    screen.hide(['a "secret"/one', 'abc']);
    screen.say('plain a "secret"/one json a \\"secret\\"/one url a%20%22secret%22%2Fone abc');
    screen.show('moving a "secret"/one');
    expect(stderr.written.join('')).not.toContain('secret');
    expect(redactSecrets('too short to tell: abc', ['abc'])).toContain('abc');
  });

  test.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
  ])('terminal %s with %j is coloured: %s', (isTTY, env, coloured) => {
    const { out } = createScreen(createStream(isTTY), createStream(isTTY), env);
    expect(out.paint('red', 'x') !== 'x').toBe(coloured);
  });

  test('moves lines on a terminal alone', () => {
    const stderr = createStream(false);
    const screen = createScreen(createStream(false), stderr, {});
    screen.show('spinning');
    screen.show('');
    expect(stderr.written).toEqual([]);
  });
});

describe('--debug', () => {
  test('tells requests and answers without the secrets in them', async () => {
    const lines: string[] = [];
    const answer = () =>
      new Response('{"detail":"fine"}', { headers: { 'content-type': 'application/problem+json' } });
    const fetch = createTracingFetch(
      async () => answer(),
      (line) => lines.push(line),
    );
    const response = await fetch(
      new Request('http://gateway/api', {
        method: 'POST',
        headers: { authorization: 'Bearer s3', 'x-admin-auth': 's3', 'x-other': 'shown' },
        body: '{"auth":"s3","payload":{"auth":"mine"}}',
      }),
    );
    expect(await response.json()).toEqual({ detail: 'fine' });
    expect(lines.join('\n')).not.toContain('s3');
    expect(lines).toEqual(expect.arrayContaining(['> POST http://gateway/api', '> x-other: shown']));
    expect(lines).toContain('> {"auth":"***","payload":{"auth":"mine"}}');
    expect(lines.at(-1)).toBe('< {"detail":"fine"}');
  });

  test('tells that no answer came, and leaves streams unread', async () => {
    const lines: string[] = [];
    const failing = createTracingFetch(
      async () => {
        throw new Error('refused');
      },
      (line) => lines.push(line),
    );
    await expect(failing(new Request('http://gateway'))).rejects.toThrow('refused');
    expect(lines.at(-1)).toMatch(/^< no answer after \d+ ms: refused$/);
    const endless = new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } });
    const streaming = createTracingFetch(
      async () => endless,
      () => undefined,
    );
    expect(await streaming(new Request('http://gateway'))).toBe(endless);
  });

  test('cuts long bodies and shows broken ones as they are', () => {
    expect(describeBody(`"${'x'.repeat(5_000)}"`)).toMatch(/^"x+… \(5002 characters\)$/);
    expect(describeBody('{"auth":\n')).toBe('{"auth": ');
  });
});
