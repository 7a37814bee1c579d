/**
 * The package for Python: its types, the data of the conformance kit, its wheel and its source distribution
 * on the oldest and the newest Python that run here, and the blocks of its README there.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeFolder } from '../harness/folder.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { INSTALLED, PYTHON_ENV, PYTHON_PACKAGE, VENV_PYTHON, WHEELS } from '../harness/python-tools.ts';
import { readBlocks } from '../harness/readme-blocks.ts';
import { EXAMPLES, startProgram, stop } from './example-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAMS = join(import.meta.dirname, 'python');
const LIMIT_MS = 600_000;
const run = promisify(execFile);
const readme = readBlocks(readFileSync(join(PYTHON_PACKAGE, 'README.md'), 'utf8'));
const blockOf = (role: string): string => readme.find((block) => block.role === role)?.text ?? '';

const folder = makeFolder();
afterAll(() => folder.remove());

/** Runs a program; rejects with what it printed. */
async function python(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  command = VENV_PYTHON,
) {
  const given = { ...PYTHON_ENV, ...env };
  const { stdout, stderr } = await run(command, [...args], { env: given, cwd: folder.path }).catch(
    (error) => {
      throw new Error(`${error.stdout}\n${error.stderr}`);
    },
  );
  return stdout + stderr;
}

test('has the version of the SDK', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'sdk/package.json'), 'utf8'));
  const text = readFileSync(join(PYTHON_PACKAGE, 'task_gateway/__init__.py'), 'utf8');
  expect(/^__version__ = "(.*)"$/m.exec(text)?.[1]).toBe(version);
});

describe.concurrent('the package for Python', { tags: 'python-tools', timeout: LIMIT_MS }, () => {
  /** The package, its examples, the programs of the tests, and the blocks of the README. */
  const files = (): readonly string[] => {
    const blocks = readme.map(({ role, text }) => {
      const file = join(folder.path, `block_${role}.py`);
      writeFileSync(file, text);
      return file;
    });
    const others = readdirSync(PROGRAMS).filter((name) => name.endsWith('.py') && !name.startsWith('test_'));
    const examples = readdirSync(join(EXAMPLES, 'python')).map((name) => join(EXAMPLES, 'python', name));
    return [
      join(PYTHON_PACKAGE, 'task_gateway'),
      ...examples,
      ...others.map((name) => join(PROGRAMS, name)),
      ...blocks,
    ];
  };

  test.each([
    [
      'mypy --strict',
      ['-m', 'mypy', '--strict', '--cache-dir', join(folder.path, 'mypy')],
      /^Success: no issues/,
    ],
    ['pyright', ['-m', 'pyright', '--pythonpath', VENV_PYTHON], /^0 errors, 0 warnings/m],
  ])('is clean for %s', async (_what, command, success) => {
    expect(await python([...command, ...files()])).toMatch(success);
  });

  test('finds a wrong type in a program that uses it', async () => {
    const file = join(folder.path, 'wrong.py');
    const right = 'client.run_task(task_type="a", task_tags=["b"], payload={})["status"]';
    const wrong = `client.run_task(task_type="a", task_tags="b", payload={})["state"]`;
    writeFileSync(file, `from task_gateway import Client\nclient = Client()\n${right}\n${wrong}\n`);
    const found = await python(['-m', 'mypy', '--strict', file]).catch((error: Error) => error.message);
    expect(found).toMatch(/wrong\.py:4: error: .*"task_tags" has incompatible type "str"/);
    expect(found).toMatch(/wrong\.py:4: error: .*"state"/);
    expect(found).toContain('Found 2 errors in 1 file');
  });

  test('reads the data of the conformance kit as it is meant', async () => {
    const env = { CONFORMANCE_DATA: join(ROOT, 'generated/conformance') };
    expect(await python([join(PROGRAMS, 'test_vectors.py')], env)).toMatch(/^Ran 6 tests .*\n\nOK\n$/m);
  });
});

describe('what is built of it', { tags: 'python-tools', timeout: LIMIT_MS }, () => {
  let gateway: GatewayProcess;
  const built = join(folder.path, 'built');
  beforeAll(async () => {
    gateway = await startGateway();
    await python(['-m', 'build', '--no-isolation', '--outdir', built, PYTHON_PACKAGE]);
  });
  afterAll(async () => void (await gateway?.stop()));

  test.each([
    ['the wheel, on the oldest Python', 0, '.whl', 'httpx==0.27.0'],
    ['the source distribution, on the newest Python', 1, '.tar.gz', 'httpx==0.28.1'],
  ])('%s: does alone what it should, and what its README shows', async (_what, index, end, httpx) => {
    const [command = ''] = readFileSync(INSTALLED, 'utf8').split('\n').slice(index);
    const own = join(folder.path, `venv-${index}`);
    const env = { PYTHONPATH: '', PIP_NO_INDEX: '1', PIP_FIND_LINKS: WHEELS };
    await python(['-m', 'venv', own], env, command);
    const file = readdirSync(built).find((name) => name.endsWith(end)) ?? '';
    const installed = join(own, 'bin/python');
    await python(['-m', 'pip', 'install', '--quiet', httpx, join(built, file)], env, installed);
    const secrets = { TASK_GATEWAY_URL: gateway.baseUrl, TASK_GATEWAY_AUTH: SECRET };
    const tries = await python([join(PROGRAMS, 'test_client.py')], { ...env, ...secrets }, installed);
    expect(tries).toMatch(/^Ran 9 tests .*\n\nOK\n$/m);
    const start = (role: string) => {
      const program = join(folder.path, `${role}-${index}.py`);
      writeFileSync(program, blockOf(role).replace('upper.outbox', join(own, 'upper.outbox')));
      return startProgram(installed, [program], secrets);
    };
    const agent = start('agent');
    const client = start('client');
    expect(await once(client.child, 'close')).toEqual([0, null]);
    expect(client.output).toEqual({ out: "{'output': 'GRÜSSE, 世界'}\n", error: '' });
    const reader = start('async');
    expect(await once(reader.child, 'close')).toEqual([0, null]);
    expect(reader.output).toEqual({ out: 'It is being read. \nsuccess\n', error: '' });
    expect(await stop(agent.child)).toBe(0);
    expect(agent.output).toEqual({
      out: '',
      error: expect.stringMatching(
        /^ready: agent \S+ is registered at \S+ with tags upper\nstopped: agent \S+ is unregistered\n$/,
      ),
    });
  });
});
