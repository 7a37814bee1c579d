/**
 * What is published, as its users get it: all packages are packed and tried by `npm run release`; the
 * contract and the SDK are installed from their tarballs into an empty project, compiled against, and run, on
 * this Node and on the host's where the SDK supports it.
 */
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { runCommands, runOnVersion } from './installed-command.ts';
import { AGENT, AUTH, BLOCKED, COMMONJS, COMPILERS, PROGRAM, REQUIRED, STORY } from './programs.ts';
import { copyCheckout, describeRelease } from './release.suite.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const README = readFileSync(join(ROOT, 'sdk/README.md'), 'utf8');
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'sdk/package.json'), 'utf8'));
const SECONDS_MAX = 600;
const LIMITS = { timeout: SECONDS_MAX * 1_000, maxBuffer: 10_000_000 };

let folder: string;
let project: string;
/** The checkout in which it ran. */
let checkout: string;
/** What the release script has made. */
let released: string;
/** What it printed. */
let printed: string;
/** The tarballs of the contract and of the SDK. */
let tarballs: readonly string[];
let gateway: GatewayProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-package-'));
  project = join(folder, 'project');
  mkdirSync(project);
  released = join(folder, 'released');
  checkout = await copyCheckout(join(folder, 'checkout'));
  ({ stdout: printed } = await release(['--to', released], checkout));
  tarballs = ['contract', 'sdk'].map((name) => join(released, `task-gateway-${name}-${VERSION}.tgz`));
  const manifest = JSON.stringify({ name: 'empty', private: true, type: 'module' });
  writeFileSync(join(project, 'package.json'), manifest);
  await npm(project, ['install', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs]);
  gateway = await startGateway({ GATEWAY_AUTH: AUTH });
}, SECONDS_MAX * 1_000);

afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The npm that came with the Node it runs on, away from this repository's own. */
async function npm(cwd: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run('npm', [...args], { cwd, ...LIMITS });
  return stdout;
}

/** Runs the script behind `npm run release` in a checkout. */
function release(options: readonly string[], cwd: string) {
  return run(process.execPath, ['test/package/release.ts', ...options], { cwd, ...LIMITS });
}

/** Runs a tool of this repository's; rejects with what it printed. */
function tool(file: string, args: readonly string[]) {
  return run(process.execPath, [join(ROOT, 'node_modules', file), ...args], LIMITS);
}

function installed(name: string): string {
  return join(project, 'node_modules', name);
}

function listFiles(within: string): readonly string[] {
  return readdirSync(within, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describeRelease({
  folder: () => folder,
  released: () => released,
  printed: () => printed,
  checkout: () => checkout,
  release,
});

describe('the tarball', () => {
  test('holds what is built, the pages, the license and the manifest, and nothing else', () => {
    const packed = listFiles(installed('@task-gateway/sdk')).map((file) =>
      relative(installed('@task-gateway/sdk'), file),
    );
    const built = /^(dist\/.+\.(js|d\.ts)(\.map)?|examples\/.+\.(js|ts|html|py|yml|md))$/;
    const sources = /^(\w|-)+(\/(\w|-)+)*\.ts$/;
    const others = packed.filter((path) => !built.test(path) && !sources.test(path));
    expect(others.sort()).toEqual([
      ...['AGENT-KIT.md', 'CLI.md', 'CLIENT.md', 'LICENSE', 'README.md', 'TESTING.md', 'bin/task-gateway.js'],
      ...['dist/commonjs/package.json', 'package.json'],
    ]);
    expect(packed).toEqual(
      expect.arrayContaining([
        ...['dist/index.js', 'dist/index.d.ts', 'dist/agent/index.js', 'dist/agent/heartbeat-thread.js'],
        ...['dist/testing/index.js', 'dist/cli/main.js', 'examples/client.js'],
      ]),
    );
  });

  test('contains no path of the machine it was built on', () => {
    for (const file of listFiles(installed('@task-gateway'))) {
      expect(readFileSync(file, 'utf8').includes(ROOT), file).toBe(false);
    }
  });

  test('has a map for each compiled file, and each map finds its source', () => {
    const files = listFiles(join(installed('@task-gateway/sdk'), 'dist'));
    const maps = files.filter((file) => file.endsWith('.map'));
    const mapped = files.filter((file) => /\.(d\.ts|js)$/.test(file) && !/commonjs\/.*\.js$/.test(file));
    expect(mapped.filter((file) => !maps.includes(`${file}.map`))).toEqual([]);
    for (const file of maps) {
      const { sources } = JSON.parse(readFileSync(file, 'utf8'));
      expect(
        sources.map((source: string) => existsSync(join(file, '..', source))),
        file,
      ).toEqual([true]);
    }
  });

  test('keeps the library that it wraps out of its types', () => {
    for (const file of listFiles(installed('@task-gateway/sdk')).filter((one) => one.endsWith('.d.ts'))) {
      expect(readFileSync(file, 'utf8'), file).not.toMatch(/from '(openapi-fetch)'/);
    }
  });

  test('installs six packages', () => {
    const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'));
    const names = Object.keys(lock.packages).filter((path) => path !== '');
    expect(names.map((path) => path.replace('node_modules/', '')).sort()).toEqual([
      ...['@task-gateway/contract', '@task-gateway/sdk', 'commander'],
      ...['get-east-asian-width', 'openapi-fetch', 'openapi-typescript-helpers'],
    ]);
    expect(JSON.stringify(lock)).not.toContain('hasInstallScript');
  });

  test.each(['the contract’s', 'the SDK’s'])('publint finds nothing in %s tarball', async (whose) => {
    const tarball = tarballs[whose === 'the SDK’s' ? 1 : 0] ?? '';
    const { stdout } = await tool('publint/src/cli.js', ['run', tarball, '--strict']);
    expect(stdout).toContain('All good!');
  });

  test.each([
    [
      'the contract’s',
      0,
      ['.', './agent', './simulator', './openapi.json', './openapi.admin.json', './openapi.agent.json'],
    ],
    ['the SDK’s', 1, ['.', './agent', './testing']],
  ] as const)('attw finds nothing in %s types', async (_whose, index, entries) => {
    // node10 reads no exports; which programs compile with it is tried below.
    const options = ['--profile', 'node16', '--format', 'json', '--entrypoints', ...entries];
    const { stdout } = await tool('@arethetypeswrong/cli/dist/index.js', [tarballs[index] ?? '', ...options]);
    const { analysis } = JSON.parse(stdout);
    expect(Object.keys(analysis.entrypoints).sort()).toEqual([...entries].sort());
    const { problems } = analysis;
    expect(problems.filter(({ resolutionKind = '' }) => resolutionKind !== 'node10')).toEqual([]);
  });

  test('resolves its entries, and no other file', () => {
    const { resolve } = createRequire(join(project, 'index.js'));
    // Node takes the ES modules for require(), too: there is one implementation.
    const required = join(installed('@task-gateway/sdk'), 'dist');
    expect(resolve('@task-gateway/sdk')).toBe(join(required, 'index.js'));
    expect(resolve('@task-gateway/sdk/agent')).toBe(join(required, 'agent/index.js'));
    expect(resolve('@task-gateway/sdk/testing')).toBe(join(required, 'testing/index.js'));
    expect(() => resolve('@task-gateway/sdk/dist/client.js')).toThrow(/not defined by "exports"/);
  });
});

/** This Node and, where there is another that the SDK supports, the host's. */
function listNodes(): readonly string[] {
  return [process.execPath, '/usr/bin/node'].filter((node) => existsSync(node));
}

describe('installed in an empty project', () => {
  test.each(listNodes())(
    'it runs: %s',
    async (node) => {
      writeFileSync(join(project, 'story.js'), STORY);
      const env = { GATEWAY_URL: gateway.baseUrl };
      const { stdout, stderr } = await run(node, ['story.js'], { cwd: project, env, timeout: 60_000 });
      expect(stderr).toMatch(
        /^(task-gateway: There is no response .*\n)?task-gateway: ready: agent packed is registered at \S+ with the tag packed .*\ntask-gateway: stopped: .*\n$/,
      );
      const result = { reply: '收到', output: '你好！' };
      expect(JSON.parse(stdout)).toEqual({ result, same: true, none: 'no_agent_available', missing: true });
    },
    40_000,
  );

  test.each(listNodes())(
    'it can be required: %s',
    async (node) => {
      writeFileSync(join(project, 'story.cjs'), REQUIRED);
      const { stdout } = await run(node, ['story.cjs'], { cwd: project, timeout: 60_000 });
      expect(stdout).toBe('required\n');
    },
    40_000,
  );

  test.each(listNodes())(
    'its agent sends heartbeats from a thread while a handler blocks: %s',
    async (node) => {
      writeFileSync(join(project, 'blocked.js'), BLOCKED);
      const { stdout } = await run(node, ['blocked.js'], { cwd: project, timeout: 60_000 });
      expect(Number(stdout)).toBeGreaterThanOrEqual(2);
    },
    40_000,
  );

  const command = () => join(project, 'node_modules/.bin/task-gateway');

  test.each(listNodes())(
    'its command runs a task with a program as its agent: %s',
    async (node) => {
      expect(await runCommands(node, command(), gateway.baseUrl)).toEqual({
        doctor: expect.stringMatching(/✓ An agent can register, send heartbeats/),
        output: '{"text":"你好"}\n',
        agentExit: 0,
      });
    },
    60_000,
  );

  test('its command reports in one sentence that a Node is too old', async () => {
    expect(readFileSync(command(), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
    for (const version of ['18.20.8', '20.18.3']) {
      const printed = `task-gateway needs Node 20.19 or newer and this is Node ${version}: install a newer one (https://nodejs.org).\n`;
      expect(await runOnVersion(command(), version)).toEqual({ code: 1, printed });
    }
    for (const version of ['20.19.0', '22.0.0']) {
      expect(await runOnVersion(command(), version)).toEqual({ code: 0, printed: '' });
    }
  });

  test.each(listNodes())(
    'the README’s first example prints what it says: %s',
    async (node) => {
      const [, lines = ''] = /```ts\n(.*?)```/s.exec(README) ?? [];
      expect(lines.trim().split('\n').length).toBeLessThanOrEqual(10);
      writeFileSync(join(project, 'readme.js'), lines.replace('http://127.0.0.1:8080', gateway.baseUrl));
      const { stdout } = await run(node, ['readme.js'], { cwd: project, timeout: 60_000 });
      expect(stdout).toBe('Hello, 世界\n');
    },
    40_000,
  );

  test.each(COMPILERS)(
    'it compiles strictly, libraries included: %s',
    async (_title, options, files) => {
      const types = join(project, 'node_modules/@types');
      mkdirSync(types, { recursive: true });
      for (const name of ['@types/node', 'undici-types']) {
        const link = join(project, 'node_modules', name);
        if (!existsSync(link)) symlinkSync(join(ROOT, 'node_modules', name), link);
      }
      writeFileSync(join(project, 'program.ts'), PROGRAM);
      writeFileSync(join(project, 'program.cts'), `${COMMONJS}\n`);
      writeFileSync(join(project, 'agent.ts'), AGENT);
      const compilerOptions = {
        target: 'es2022',
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        noEmit: true,
        ...options,
      };
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
      const { stdout } = await run(process.execPath, [
        join(ROOT, 'node_modules/typescript/bin/tsc'),
        '-p',
        project,
      ]).catch((error) => error);
      expect(stdout).toBe('');
    },
    60_000,
  );
});
