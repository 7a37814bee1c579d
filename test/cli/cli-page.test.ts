/**
 * The SDK's page on the command line is true: its first example runs, and its tables match the code.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listSuggestions } from '../../sdk/cli/arguments/suggestions.ts';
import { DEFAULT_AUTH } from '../../sdk/cli/connection.ts';
import { EXIT_CODES } from '../../sdk/cli/exit-codes.ts';
import { createProgram } from '../../sdk/cli/program.ts';
import { ADMIN_SECRET, type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { writeLauncher } from './cli-process.ts';
import { createTestContext } from './command-run.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../sdk/CLI.md'), 'utf8');
let gateway: GatewayProcess;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-readme-'));
  writeLauncher(folder);
  gateway = await startGateway({ GATEWAY_AUTH: DEFAULT_AUTH });
});

afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('the first example of the page does what the page says', async () => {
  const [, lines = ''] = /```sh\n([\s\S]*?)```/.exec(PAGE) ?? [];
  const script = `${lines.replace('http://127.0.0.1:8080', gateway.baseUrl)}\nkill -TERM $!; wait $!`;
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    LANG: 'C.UTF-8',
    TASK_GATEWAY_ADMIN_AUTH: ADMIN_SECRET,
  };
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], { env });
  const [, promised] = /The last line prints `([^`]*)`/.exec(PAGE) ?? [];
  expect(stdout.trimEnd().split('\n').at(-1)).toBe(promised);
  expect(stdout).toMatch(/^✓ .* is ready/);
  expect(stdout).not.toContain('✗');
});

test('the exit codes of the page are those of the program', () => {
  const listed = [...PAGE.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(EXIT_CODES));
});

test('every command and option of the page exists', () => {
  const program = createProgram(createTestContext().context);
  const named = [...PAGE.matchAll(/task-gateway ((?:[a-z]+ ?)+)([^`\n]*)/g)];
  expect(named.length).toBeGreaterThan(10);
  for (const [line, words = '', rest = ''] of named) {
    const path = words.trim().split(' ');
    const command = ['task', 'agent', 'config'].includes(path[0] ?? '') ? path.slice(0, 2) : path.slice(0, 1);
    const siblings = listSuggestions(program, [...command.slice(0, -1), '']).map(({ word }) => word);
    expect(siblings, line).toContain(command.at(-1));
    const [own = ''] = rest.split(' -- ');
    for (const [option] of own.matchAll(/--[a-z-]+/g)) {
      expect(
        listSuggestions(program, [...command, option]).map(({ word }) => word),
        line,
      ).toContain(option);
    }
  }
  const everywhere = [
    ...['run', 'task answer', 'task wait', 'events', 'agent exec', 'config set', 'doctor'],
  ].flatMap((path) => listSuggestions(program, [...path.split(' '), '--']).map(({ word }) => word));
  for (const [, option = ''] of PAGE.matchAll(/`(--[a-z-]+)/g)) {
    if (option !== '--help') expect(everywhere).toContain(option);
  }
});
