/**
 * The README is executed: its commands and its code are run, their output is compared, and its table of
 * settings is compared with the code's.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { settings } from '../../server/config/config.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const run = promisify(execFile);

type Block = { readonly language: string; readonly role: string; readonly text: string };
const blocks: readonly Block[] = [...README.matchAll(/^```(\w+)(?: ([\w-]+))?\n([\s\S]*?)^```$/gm)].map(
  ([, language = '', role = '', text = '']) => ({ language, role, text }),
);
const scripts = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts as Record<
  string,
  string
>;

let folder: string;
let gateway: ChildProcess;
let port: string;
let printed = '';

/** Starts the gateway as `npm start` does, but on a free port, with its data in a folder of its own. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-readme-'));
  const [command = '', ...args] = (scripts.start ?? '').split(' ');
  const { GATEWAY_AUTH: _gateway, ADMIN_AUTH: _admin, ...env } = process.env;
  const store = { STORE: `sqlite:${folder}/gateway.db`, PORT: '0' };
  gateway = spawn(command === 'node' ? process.execPath : command, args, {
    cwd: ROOT,
    env: { ...env, ...store },
  });
  port = await new Promise((resolve, reject) => {
    gateway.once('exit', (code) => reject(new Error(`npm start ended with ${code}: ${printed}`)));
    gateway.stderr?.on('data', (text) => {
      printed += text;
    });
    gateway.stdout?.on('data', (text) => {
      printed += text;
      const found = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(printed);
      if (found?.[1]) resolve(found[1]);
    });
  });
});

afterAll(async () => {
  const ended = new Promise((resolve) => gateway.once('exit', resolve));
  gateway.kill('SIGTERM');
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

const here = (text: string): string => text.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`);

/** What changes from run to run: ids, times, secrets, ports. */
function levelOut(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/"create_time":[\d.]+/g, '"create_time":<time>')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
    .trim();
}

describe('the two commands', () => {
  test('are npm ci, then start or test', () => {
    expect(blocks.find(({ role }) => role === 'main')?.text).toBe('npm ci && npm start\n');
    expect(blocks.find(({ role }) => role === 'test')?.text).toBe('npm ci && npm test\n');
    expect(scripts.start).toContain('server/main.ts');
    expect(scripts.test).toContain('test/run-tests.ts');
  });

  test('every npm script the README names exists', () => {
    for (const [, name = ''] of README.matchAll(/npm run ([\w:-]+)/g))
      expect(scripts, name).toHaveProperty(name);
  });

  test('the start prints the message of the README', async () => {
    const { describeStart } = await import('../../server/startup-message.ts');
    const { readConfig } = await import('../../server/config/config.ts');
    const world = { readText: () => '', newSecret: () => 'kyT9bKZFHfhw9vZ3p8rBq2m0XcWn5sLd' };
    const answer = readConfig({}, world);
    if (!answer.ok) throw new Error(answer.mistakes.join());
    const address = { address: '127.0.0.1', family: 'IPv4', port: 8080 };
    const shown = blocks.find(({ role }) => role === 'main-output')?.text.trim();
    expect(describeStart(answer.config, address).forPeople.trim()).toBe(shown);
  });

  test('the curl line that the start prints works', async () => {
    const line = printed.split('\n').find((one) => one.includes('"listening"')) ?? '{}';
    const { curl } = JSON.parse(line) as { curl: string };
    const { stdout } = await run('bash', ['-c', curl]);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'pending', payload: { text: '你好' } });
  });
});

describe('the curl blocks', () => {
  test('print what the README says, in its order, in one shell', async () => {
    const steps = blocks.filter(({ role }) => role === 'curl');
    const answers = blocks.filter(({ role }) => role === 'answer');
    expect(answers).toHaveLength(steps.length);
    const script = steps.map(({ text }) => `${here(text)}\necho; echo ---`).join('\n');
    const { stdout } = await run('bash', ['-euc', script]);
    const outputs = stdout.split('---\n').slice(0, -1).map(levelOut);
    for (const [index, { text }] of answers.entries()) expect(outputs[index]).toContain(levelOut(text));
  });
});

describe('the TypeScript blocks', () => {
  test('run unchanged: the agent, then the client', async () => {
    const code = (role: string): string => here(blocks.find((one) => one.role === role)?.text ?? '');
    // Inside the repository, so that the packages are found; in a folder that git ignores.
    const folderOfCode = mkdtempSync(join(ROOT, '.readme-'));
    try {
      writeFileSync(join(folderOfCode, 'agent.ts'), `${code('agent')}\nconsole.log('up');\n`);
      writeFileSync(join(folderOfCode, 'client.ts'), code('client'));
      const node = ['--conditions=task-gateway-source', '--no-warnings'];
      const agent = spawn(process.execPath, [...node, 'agent.ts'], { cwd: folderOfCode });
      await new Promise<void>((resolve, reject) => {
        agent.stdout.once('data', () => resolve());
        agent.stderr.on('data', (text) => reject(new Error(String(text))));
      });
      const { stdout } = await run(process.execPath, [...node, 'client.ts'], { cwd: folderOfCode });
      const ended = new Promise((resolve) => agent.once('exit', resolve));
      agent.kill('SIGTERM');
      expect(await ended).toBe(0);
      expect(stdout).toBe(blocks.find(({ role }) => role === 'client-output')?.text);
    } finally {
      rmSync(folderOfCode, { recursive: true, force: true });
    }
  });
});

describe('the settings', () => {
  test('are those of the code, with their defaults', () => {
    const table = /<!-- settings -->\n([\s\S]*?)<!-- \/settings -->/.exec(README)?.[1];
    expect(table).toBe(describeSettings());
  });
});

function describeSettings(): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const value = setting.default === null || setting.default === '' ? '' : `\`${setting.default}\``;
    return `| \`${name}\` | ${value} | ${setting.unit ?? ''} | ${setting.description} |`;
  });
  return `\n| Name | Default | Unit | Meaning |\n|---|---|---|---|\n${rows.join('\n')}\n\n`;
}
