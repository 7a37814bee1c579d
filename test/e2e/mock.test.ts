/** `npm run mock` does what it promises for the commands of the tour and the names of `sdk/TESTING.md`. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { isJson, type Json, listOperations, requireObject } from '../../spec/document.ts';
import { buildCall, type OperationId } from '../contract/usual-calls.ts';
import { readBlocks } from '../harness/readme-blocks.ts';

const ROOT = join(import.meta.dirname, '../..');
const WAIT = { timeout: 60_000, interval: 20 };
const blocks = readBlocks(readFileSync(join(ROOT, 'generated/tour-with-curl.md'), 'utf8'));
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
  // Killed, it would leave Prism behind, which holds its outputs open.
  mock.child.kill('SIGTERM');
  await mock.closed;
});

test('every curl command of the tour succeeds on the mock', { tags: 'curl' }, async () => {
  const commands = blocks.filter(({ role }) => role === 'curl').map(({ text }) => text);
  const script = commands.join('\n').replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`);
  // Without --fail, curl takes a 4xx for a success.
  const failing = 'curl() { command curl --fail-with-body "$@"; }';
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', `${failing}\n${script}`]);
  expect(stdout.match(/"request_id"/g)?.length).toBeGreaterThanOrEqual(3);
  expect(stdout).not.toContain('"code"');
});

test('a request that the document does not allow gets an example, and in the header of the page its own wrong field', async () => {
  const body = JSON.stringify({ auth: 'any', task_type: 't', task_tags: ['any'], payload: 7 });
  const response = await fetch(`http://127.0.0.1:${port}/api/cli/tasks`, { method: 'POST', body });
  expect(response.status).toBe(422);
  expect(await response.text()).not.toContain('payload');
  const page = readFileSync(join(ROOT, 'sdk/TESTING.md'), 'utf8');
  const [, header = ''] = /document's example: its header `([\w-]+)`, and what the mock/.exec(page) ?? [];
  expect(response.headers.get(header)).toContain('payload must be object');
  await vi.waitFor(() => expect(mock.printed()).toContain('Violation: request.body.payload'), WAIT);
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

describe('the names that the page about tests lists for Prefer', () => {
  const page = readFileSync(join(ROOT, 'sdk/TESTING.md'), 'utf8');
  const named = listNamed();

  test('are those of the document', () => {
    expect(page).toContain(describeSuccesses(named));
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(page).toContain(`npx @stoplight/prism-cli@${devDependencies['@stoplight/prism-cli']} mock`);
    for (const code of ['204', '304']) {
      const calls = named.filter(({ status, names }) => status === code && names.length === 0);
      const [, sentence = ''] = new RegExp(`((?:\`\\w+\`[,a-z\\s]*)+) \`code=${code}\``).exec(page) ?? [];
      expect([...sentence.matchAll(/`(\w+)`/g)].map(([, id]) => id)).toEqual(calls.map(({ id }) => id));
    }
  });

  test('get their examples from the mock', async () => {
    const wrong: string[] = [];
    for (const { id, status, names } of named) {
      for (const name of names.length === 0 ? [null] : names) {
        const call = buildCall(id, { gateway: 'any', admin: 'any' });
        const prefer = `code=${status}${name === null ? '' : `, example=${name}`}`;
        const accept = name?.includes('stream-') ? { accept: 'text/event-stream' } : {};
        const headers = { ...call.headers, prefer, ...accept };
        const response = await fetch(`http://127.0.0.1:${port}${call.path}`, { ...call, headers });
        const text = await response.text();
        const isRight = status.startsWith('2') || name === null || JSON.parse(text).code === name;
        if (response.status !== Number(status) || !isRight) wrong.push(`${id}: ${prefer}: ${text}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

/** The names of the examples that an operation has for a status; none where the status has no body. */
type Named = { readonly id: OperationId; readonly status: string; readonly names: readonly string[] };

function readDocument(): Json {
  return JSON.parse(readFileSync(join(ROOT, 'generated/openapi/task-gateway.3.1.json'), 'utf8'));
}

/** All that `Prefer` can ask for, but what belongs to no operation. */
function listNamed(): readonly Named[] {
  const document = readDocument();
  return [...listOperations(document)].flatMap(({ operation }) =>
    Object.entries(requireObject(operation, 'responses')).flatMap(([status, written]) => {
      if (status === 'default' || !isJson(written)) return [];
      const { $ref } = written;
      const key = typeof $ref === 'string' ? $ref.replace('#/components/responses/', '') : null;
      const response = key === null ? written : requireObject(document, 'components', 'responses', key);
      const contents = isJson(response.content) ? Object.values(response.content) : [];
      const names = contents.flatMap((content) =>
        Object.keys(requireObject({ content }, 'content', 'examples')),
      );
      return [{ id: operation.operationId as OperationId, status, names }];
    }),
  );
}

/** The table of what succeeds in several ways, as the page has it. */
function describeSuccesses(named: readonly Named[]): string {
  const rows = named
    .filter(({ status, names }) => status === '200' && names.length > 1)
    .map(({ id, names }) => `| \`${id}\` | ${names.map((name) => `\`${name}\``).join(', ')} |\n`);
  return `| Operation | \`example=\` |\n|---|---|\n${rows.join('')}`;
}

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
