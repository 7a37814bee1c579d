/** What the command line says when something is wrong, against a real gateway: secrets, usage, and `doctor`. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, createAgent } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient } from '../../sdk/client.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { type CommandOptions, type Ended, envFor, runCommand, writeLauncher } from './cli-process.ts';

let gateway: GatewayProcess;
let agent: Agent;
let client: TaskGatewayClient;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-cli-'));
  gateway = await startGateway();
  env = envFor(gateway);
  const reach = { baseUrl: gateway.baseUrl, auth: SECRET };
  client = createClient({ ...reach, adminAuth: ADMIN_SECRET });
  agent = createAgent({ ...reach, agentId: '执行者', tags: ['echo'], handler: () => null });
  await agent.start();
});

afterAll(async () => {
  await agent?.stop({ drainMs: 0 });
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function run(words: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  return runCommand(words, { ...options, env: { ...env, ...options.env } });
}

describe('secrets', () => {
  test('a wrong one is exit 4, and is not repeated, not even with --debug', async () => {
    const wrong = 'a-wrong-secret-nobody-may-see';
    const all = await Promise.all([
      run(['task', 'get', 'x', '--auth', wrong, '--debug']),
      run(['task', 'submit', 'x', '-t', 'y', '--auth', wrong, '--debug']),
      run(['task', 'list', '--debug'], { env: { TASK_GATEWAY_ADMIN_AUTH: wrong } }),
      run(['agent', 'list'], { env: { TASK_GATEWAY_ADMIN_AUTH: '' } }),
      run(['events', 's'], { env: { TASK_GATEWAY_AUTH: wrong } }),
      run(['agent', 'exec', '-t', 'x', '--', 'true'], { env: { TASK_GATEWAY_AUTH: wrong } }),
    ]);
    for (const { code, stdout, stderr } of all) {
      expect(code, stderr).toBe(4);
      expect(stdout + stderr).not.toContain(wrong);
      expect(stderr).toMatch(/TASK_GATEWAY_(ADMIN_)?AUTH/);
    }
    expect(all[0]?.stderr).toContain('> GET http://');
  });

  test('those of a file are taken', async () => {
    const path = join(folder, 'secrets');
    writeFileSync(path, `TASK_GATEWAY_AUTH=${SECRET}\nTASK_GATEWAY_ADMIN_AUTH=${ADMIN_SECRET}\n`);
    const bare = { TASK_GATEWAY_AUTH: '', TASK_GATEWAY_ADMIN_AUTH: '' };
    expect(await run(['agent', 'list', '--auth-file', path], { env: bare })).toMatchObject({ code: 0 });
  });
});

test('wrong usage is exit 2 and one line on standard error, found here or by the gateway', async () => {
  const [here, there, session] = await Promise.all([
    run(['run', 'x', '--tagg=y']),
    run(['run', 'x', '-t', '']),
    run(['events', '']),
  ]);
  const text = "task-gateway: unknown option '--tagg=…' (Did you mean --tag?) See --help.\n";
  expect(here).toEqual({ code: 2, stdout: '', stderr: text });
  expect(there).toMatchObject({ code: 2, stderr: expect.stringContaining('/task_tags') });
  expect(session).toMatchObject({ code: 2, stderr: expect.stringContaining('cli_session_id') });
});

test('help and version go to standard output: exit 0', async () => {
  const [help, version, inner] = await Promise.all([
    run(['--help']),
    run(['--version']),
    run(['agent', 'exec', '--help']),
  ]);
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit codes:'), stderr: '' });
  expect(version).toMatchObject({ code: 0, stdout: '1.0.0\n' });
  expect(inner.stdout).toMatch(/Examples:[\s\S]*task-gateway agent exec/);
});

describe('doctor', () => {
  test('finds all well, line by line', async () => {
    const { code, stdout, stderr } = await run(['doctor']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^✓ http:\S+ answers and is ready \(\d+ ms\)\.$/),
      '✓ The gateway speaks version 1.0.0, this command 1.0.0.',
      '✓ The gateway secret is right.',
      '✓ The administrator’s secret is right.',
      '✓ 1 agent is registered, 1 can take a task now.',
      '✓ The clocks of the gateway and of this machine agree.',
      expect.stringMatching(/^✓ A task went to an agent and its event came back by the stream \(\d+ ms\)\.$/),
    ]);
    expect((await client.listAgents()).total).toBe(1);
  });

  test('says which secret is wrong or missing, and what to do: exit 4', async () => {
    const [wrong, missing] = await Promise.all([
      run(['doctor', '-o', 'json'], {
        env: { TASK_GATEWAY_AUTH: 'wrong-one', TASK_GATEWAY_ADMIN_AUTH: 'wrong-two' },
      }),
      run(['doctor'], { env: { TASK_GATEWAY_AUTH: '', TASK_GATEWAY_ADMIN_AUTH: '' } }),
    ]);
    expect(wrong.code).toBe(4);
    const states = JSON.parse(wrong.stdout).map(({ check, state }: Record<string, string>) => [check, state]);
    expect(states).toEqual([
      ...[
        ['gateway', 'right'],
        ['version', 'right'],
      ],
      ...[
        ['gateway secret', 'wrong'],
        ['admin secret', 'wrong'],
      ],
    ]);
    expect(missing.code).toBe(4);
    expect(missing.stdout).toMatch(
      /✗ No secret was given, and the default one is wrong\. Set TASK_GATEWAY_AUTH/,
    );
    expect(missing.stdout).toMatch(/– No administrator’s secret was given/);
  });

  test('says that nothing, or somebody else, answers: exit 1', async () => {
    const stranger = createServer((_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const { port } = stranger.address() as AddressInfo;
    const [nothing, somebody] = await Promise.all([
      run(['doctor', '--url', 'http://127.0.0.1:1']),
      run(['doctor', '-o', 'jsonl', '--url', `http://127.0.0.1:${port}`]),
    ]);
    stranger.close();
    expect(nothing).toMatchObject({ code: 1, stdout: expect.stringMatching(/^✗ Nothing answers .*--url/) });
    expect(somebody.code).toBe(1);
    expect(JSON.parse(somebody.stdout)).toMatchObject({ check: 'gateway', state: 'wrong' });
  });
});

test('a gateway that is away is exit 1 and says what to do', async () => {
  const { code, stderr } = await run(['task', 'get', 'x', '--url', 'http://127.0.0.1:1']);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^task-gateway: No answer .*Start it, or say with --url or TASK_GATEWAY_URL where it is\.\n$/,
  );
});

test('a reader that leaves early is no failure, and the kit’s log is kept off standard output', async () => {
  writeLauncher(folder);
  for (let count = 0; count < 40; count += 1) {
    await client.submitTask({ task_type: 'x', task_tags: ['nobody'], payload: { text: 'x'.repeat(4_000) } });
  }
  const script = `task-gateway task list -n 40 -o jsonl | head -1 | cut -c 1-15; echo "\${PIPESTATUS[*]}"`;
  const logged = { ...env, TASK_GATEWAY_LOG: 'debug', PATH: `${folder}:${process.env.PATH}` };
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', script], { env: logged });
  expect({ stdout, stderr }).toEqual({ stdout: '{"request_id":"\n0 0 0\n', stderr: '' });
});
