/** `npm run mock` does for the commands of the README what it promises. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readBlocks } from '../harness/readme-blocks.ts';

const ROOT = join(import.meta.dirname, '../..');
const WAIT = { timeout: 50_000, interval: 20 };
const blocks = readBlocks(readFileSync(join(ROOT, 'README.md'), 'utf8'));
const run = promisify(execFile);

function startMock(words: readonly string[]) {
  const child = spawn(process.execPath, ['test/e2e/mock.ts', ...words], { cwd: ROOT });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
  }
  return { child, closed: once(child, 'close'), printed: () => printed };
}

let mock: ReturnType<typeof startMock>;
let port = '';
beforeAll(async () => {
  mock = startMock(['--port', '0']);
  port = await vi.waitFor(() => {
    const [, found] = /on http:\/\/127\.0\.0\.1:(\d+)/.exec(mock.printed()) ?? [];
    if (found === undefined) throw new Error(`It does not listen:\n${mock.printed()}`);
    return found;
  }, WAIT);
});
afterAll(async () => {
  mock.child.kill('SIGKILL');
  await mock.closed;
});

test('every curl command of the README succeeds on the mock', { tags: 'curl' }, async () => {
  const commands = blocks.filter(({ role }) => role === 'curl').map(({ text }) => text);
  const script = commands.join('\n').replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`);
  // Without --fail, curl takes a 4xx for a success.
  const failing = 'curl() { command curl --fail-with-body "$@"; }';
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', `${failing}\n${script}`]);
  expect(stdout.match(/"request_id"/g)?.length).toBeGreaterThanOrEqual(3);
  expect(stdout).not.toContain('"code"');
});

test('a status that is asked for comes from the mock, and so does the answer to a page of another origin', async () => {
  const url = `http://127.0.0.1:${port}/api/cli/tasks/01a200ed-85ec-77b2-ab8c-963655723c3c`;
  const headers = { authorization: 'Bearer any', prefer: 'code=404', origin: 'http://page.example' };
  const response = await fetch(url, { headers });
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ code: 'task_not_found' });
  expect(response.headers.get('access-control-allow-origin')).not.toBeNull();
});

test('a body that is not JSON is a 400, as the gateway says it', async () => {
  const url = `http://127.0.0.1:${port}/api/cli/tasks`;
  const response = await fetch(url, { method: 'POST', body: '{"auth":' });
  expect(response.status).toBe(400);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(await response.json()).toMatchObject({ status: 400, code: 'malformed_body' });
});

test('a port in use and an unknown option are explained', async () => {
  const taken = startMock(['--port', port]);
  expect((await taken.closed)[0]).toBe(1);
  expect(taken.printed()).toMatch(`Port ${port} of 127.0.0.1 is in use by another process`);
  const unknown = startMock(['--prot', '1']);
  expect((await unknown.closed)[0]).toBe(1);
  expect(unknown.printed()).toBe(
    "npm run mock: Unknown option '--prot'. It takes: npm run mock -- [--port NUMBER] [--host ADDRESS]\n",
  );
});

test('Ctrl-C ends it', async () => {
  mock.child.kill('SIGINT');
  expect((await mock.closed)[0]).toBe(0);
});
