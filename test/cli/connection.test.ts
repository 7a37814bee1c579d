/** Where the gateway's address and the secrets come from, and that no secret is ever written. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { DEFAULT_AUTH, readTarget } from '../../sdk/cli/connection.ts';
import { describeBody, redactSecrets } from '../../sdk/cli/terminal/redaction.ts';
import { createTerminal } from '../../sdk/cli/terminal/terminal.ts';
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

  test('comes from the environment, but options have priority', () => {
    expect(readTarget({}, env)).toEqual({
      url: 'http://env:1',
      auth: 'env-secret',
      adminAuth: 'env-admin',
      isDefaultAuth: false,
      hasHeaders: true,
    });
    expect(readTarget({ url: 'http://o', auth: 'o-secret', adminAuth: 'o-admin' }, env)).toEqual({
      url: 'http://o',
      auth: 'o-secret',
      adminAuth: 'o-admin',
      isDefaultAuth: false,
      hasHeaders: true,
    });
  });

  test('is by default a gateway on this machine that was started without a secret', () => {
    const nothing = { TASK_GATEWAY_URL: '', TASK_GATEWAY_AUTH: '', TASK_GATEWAY_ADMIN_AUTH: '' };
    for (const empty of [{}, nothing]) {
      expect(readTarget({}, empty)).toEqual({
        url: 'http://127.0.0.1:8080',
        auth: DEFAULT_AUTH,
        adminAuth: undefined,
        isDefaultAuth: true,
        hasHeaders: true,
      });
    }
    expect(DEFAULT_AUTH).toBe(DEFAULT_GATEWAY_AUTH);
  });

  test.each([
    ['file-secret\n', { auth: 'file-secret', adminAuth: 'env-admin' }],
    ['\ufeff# a comment\r\nfile-secret\r\n', { auth: 'file-secret', adminAuth: 'env-admin' }],
    [
      'TASK_GATEWAY_AUTH=file=secret\nTASK_GATEWAY_ADMIN_AUTH = file-admin',
      { auth: 'file=secret', adminAuth: 'file-admin' },
    ],
    [
      '# of the gateway\nGATEWAY_AUTH=file-secret old\nADMIN_AUTH=file-admin old-admin\nPORT=9000\n',
      { auth: 'file-secret', adminAuth: 'file-admin' },
    ],
    ['file-secret old-secret\n', { auth: 'file-secret', adminAuth: 'env-admin' }],
    ['TASK_GATEWAY_ADMIN_AUTH=file-admin', { auth: 'env-secret', adminAuth: 'file-admin' }],
  ])('a file with %j has priority over the environment', (content, secrets) => {
    expect(readTarget({ authFile: fileWith(content) }, env)).toMatchObject(secrets);
  });

  test.each([
    [{ auth: 'top-secret', authFile: 'x' }, '--auth or --auth-file, not both'],
    [{ authFile: '/nowhere/at/all' }, 'ENOENT'],
    [{ authFile: fileWith('') }, 'must hold either the gateway secret'],
    [{ authFile: fileWith('top-secret\nanother') }, 'must hold either the gateway secret'],
    [{ authFile: fileWith('GATEWAY_AUTH=top-secret\nanother') }, 'must hold either the gateway secret'],
    [{ authFile: fileWith('GATEWAY_SECRET=top-secret\nPORT=1') }, 'or lines GATEWAY_AUTH=… and ADMIN_AUTH=…'],
    [{ authFile: fileWith(Buffer.from('\ufefftop-secret', 'utf16le')) }, 'UTF-16'],
  ])('%j is refused, and no secret is in the message', (options, words) => {
    expect(() => readTarget(options, env)).toThrow(words);
    expect(() => readTarget(options, env)).not.toThrow('top-secret');
  });
});

/** A stream that collects what is written to it. */
function createStream(isTTY: boolean) {
  const written: string[] = [];
  return {
    isTTY,
    columns: 40,
    written,
    write(text: string, done?: () => void) {
      written.push(text);
      done?.();
    },
  };
}

describe('the terminal', () => {
  test('redacts secrets on standard error: plain, in JSON and in URLs', () => {
    const stderr = createStream(true);
    const terminal = createTerminal(createStream(false), stderr, {});
    terminal.redact(['a "secret"/one', 'abc']);
    terminal.log('plain a "secret"/one json a \\"secret\\"/one url a%20%22secret%22%2Fone abc');
    terminal.showStatus('moving a "secret"/one');
    expect(stderr.written.join('')).not.toContain('secret');
  });

  test('redacts a short secret where it stands alone, and the longer of two with a common beginning', () => {
    expect(redactSecrets('abc: "abc", abcd, /abc/', ['abc'])).toBe('***: "***", abcd, /***/');
    expect(redactSecrets('a.c is not abc', ['a.c'])).toBe('*** is not abc');
    expect(redactSecrets('first-secret first-secret-two', ['first-secret', 'first-secret-two'])).toBe(
      '*** ***',
    );
    expect(redactSecrets('text', ['', ' '])).toBe('text');
  });

  test.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
  ])('isTTY %s with %j has colours: %s', (isTTY, env, hasColours) => {
    const { out } = createTerminal(createStream(isTTY), createStream(isTTY), env);
    expect(out.paint('red', 'x') !== 'x').toBe(hasColours);
  });

  test('shows the status line only if standard error is a terminal', () => {
    const stderr = createStream(false);
    const terminal = createTerminal(createStream(false), stderr, {});
    terminal.showStatus('spinning');
    terminal.showStatus('');
    expect(stderr.written).toEqual([]);
  });
});

describe('--debug', () => {
  test('logs requests and responses without secrets', async () => {
    const lines: string[] = [];
    const respond = () =>
      new Response('{"detail":"fine"}', { headers: { 'content-type': 'application/problem+json' } });
    const fetch = createTracingFetch(
      async () => respond(),
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

  test('logs that there was no response, and does not read streams', async () => {
    const lines: string[] = [];
    const failing = createTracingFetch(
      async () => {
        throw new Error('refused');
      },
      (line) => lines.push(line),
    );
    await expect(failing(new Request('http://gateway'))).rejects.toThrow('refused');
    expect(lines.at(-1)).toMatch(/^< no response after \d+ ms: refused$/);
    const endless = new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } });
    const streaming = createTracingFetch(
      async () => endless,
      () => undefined,
    );
    expect(await streaming(new Request('http://gateway'))).toBe(endless);
  });

  test('cuts long bodies, and logs broken JSON as it is', () => {
    expect(describeBody(`"${'x'.repeat(5_000)}"`)).toMatch(/^"x+… \(5002 characters\)$/);
    expect(describeBody('{"auth":\n')).toBe('{"auth": ');
  });
});
