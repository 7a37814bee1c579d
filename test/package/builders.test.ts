/**
 * The SDK as builders and test runners read it, installed from its tarballs into a package of its own: a
 * bundle of an agent by esbuild, as CommonJS and as an ES module, and Jest, on this Node and on the host's.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LIMITS = { timeout: 300_000, maxBuffer: 10_000_000 };
const NODES = [process.execPath, '/usr/bin/node'].filter((node) => existsSync(node));
const MAIN = `async function main() {
    const fetch = async () => new Response('{}', { status: 404 });
    const gateway = { baseUrl: 'http://gateway.test', auth: 'x', fetch, logLevel: 'off' };
    const handler = () => 'done';
    createAgent({ ...gateway, tags: ['x'], handler });
    const error = await createClient(gateway).getTask('t').catch((thrown) => thrown);
    if (!(error instanceof NotFoundError)) throw new Error('a wrong error');
    const { result } = await runHandler(handler);
    if (result.output !== 'done') throw new Error('a wrong result');
  }`;
const IMPORTS = `import { createClient, NotFoundError } from '@task-gateway/sdk';
  import { createAgent } from '@task-gateway/sdk/agent';
  import { runHandler } from '@task-gateway/sdk/testing';`;
const REQUIRES = IMPORTS.replaceAll(/import (.*) from (.*);/g, 'const $1 = require($2);');
let project: string;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'task-gateway-builders-'));
  const npm = (args: readonly string[], cwd: string) => run('npm', [...args], { cwd, ...LIMITS });
  const packed = await npm(
    ['pack', '--silent', '-w', 'generated', '-w', 'sdk', '--pack-destination', project],
    ROOT,
  );
  const tarballs = packed.stdout
    .trim()
    .split('\n')
    .filter((one) => one.endsWith('.tgz'));
  writeFileSync(join(project, 'package.json'), '{ "private": true }');
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
  await npm(
    ['install', ...quiet, ...tarballs.map((one) => `./${one}`), 'esbuild@0.28.2', 'jest@30'],
    project,
  );
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

test.each(['cjs', 'esm'])(
  'A bundle of an agent by esbuild runs, and prints nothing: %s',
  async (format) => {
    writeFileSync(join(project, 'app.js'), `${IMPORTS}\n${MAIN}\nmain();`);
    const out = `out.${format === 'cjs' ? 'cjs' : 'mjs'}`;
    const options = [
      '--bundle',
      '--platform=node',
      `--format=${format}`,
      `--outfile=${out}`,
      '--log-level=error',
    ];
    await run(join(project, 'node_modules/.bin/esbuild'), ['app.js', ...options], { cwd: project });
    for (const node of NODES) {
      const { stdout, stderr } = await run(node, [out], { cwd: project, ...LIMITS });
      expect({ node, stdout, stderr }).toEqual({ node, stdout: '', stderr: '' });
    }
  },
  60_000,
);

test.each(NODES)(
  'Jest requires the SDK and runs an agent with it: %s',
  async (node) => {
    writeFileSync(join(project, 'app.test.js'), `${REQUIRES}\n${MAIN}\ntest('it runs', main);`);
    const { stderr } = await run(node, ['node_modules/jest/bin/jest.js', '--ci'], {
      cwd: project,
      ...LIMITS,
    });
    expect(stderr).toMatch(/Tests: +1 passed, 1 total/);
  },
  120_000,
);
