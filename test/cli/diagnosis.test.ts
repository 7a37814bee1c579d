/**
 * What commands report when something is wrong, against a real gateway: secrets, usage, outages, and
 * `doctor`.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { createClient } from '../../sdk/client.ts';
import { systemClock } from '../../sdk/clock.ts';
import { ADMIN_SECRET, SECRET, startGateway } from '../harness/gateway-process.ts';
import { envFor, writeLauncher } from './cli-process.ts';
import { startCommand } from './command-run.ts';
import { client, env, folder, gateway, run, useAgent, useGateway } from './gateway-fixture.ts';

useGateway();

useAgent({ agentId: '执行者', tags: ['echo'], maxConcurrent: 1, handler: () => null });

describe('secrets', () => {
  test('a wrong secret leads to exit code 4 and is never written, not even with --debug', async () => {
    const wrong = 'a-wrong-secret-not-to-be-shown';
    const all = await Promise.all([
      run(['task', 'get', 'x', '--auth', wrong, '--debug']),
      run(['task', 'submit', 'x', '-t', 'y', '--auth', wrong, '--debug']),
      run('task list --debug', { env: { TASK_GATEWAY_ADMIN_AUTH: wrong } }),
      run('agent list', { env: { TASK_GATEWAY_ADMIN_AUTH: '' } }),
      run('events s', { env: { TASK_GATEWAY_AUTH: wrong } }),
      run('agent exec -t x -- true', { env: { TASK_GATEWAY_AUTH: wrong } }),
    ]);
    for (const { code, stdout, stderr } of all) {
      expect(code, stderr).toBe(4);
      expect(stdout + stderr).not.toContain(wrong);
      expect(stderr).toMatch(/TASK_GATEWAY_(ADMIN_)?AUTH/);
    }
    expect(all[0]?.stderr).toContain('> GET http://');
  });
});

test('--help and --version write to standard output, with exit code 0', async () => {
  const [help, version, inner] = await Promise.all([
    run('--help'),
    run('--version'),
    run('agent exec --help'),
  ]);
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit codes:'), stderr: '' });
  expect(version).toMatchObject({ code: 0, stdout: '1.0.0\n' });
  expect(inner.stdout).toMatch(/Examples:[\s\S]*task-gateway agent exec/);
});

describe('doctor', () => {
  test('prints a line for every check that succeeds', async () => {
    const { code, stdout, stderr } = await run('doctor');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^✓ The gateway at http:\S+ is ready \(\d+ ms\)\.$/),
      '✓ The gateway has version 1.0.0, this command has version 1.0.0.',
      '✓ The gateway secret is right.',
      '✓ The admin secret is right.',
      '✓ 1 agent is registered, 1 can take a task now.',
      '✓ The clocks of the gateway and of this machine agree.',
      expect.stringMatching(
        /^✓ An agent can register, send heartbeats, claim, report and unregister \(\d+ ms\)\.$/,
      ),
      expect.stringMatching(/^✓ The event stream opens, and its first bytes arrive at once \(\d+ ms\)\.$/),
    ]);
    expect((await client.listAgents()).total).toBe(1);
    expect((await client.listTasks({ type: 'doctor' })).tasks).toEqual([]);
  });

  test('with --run-task also runs a task, on an agent of its own', async () => {
    const { code, stdout } = await run('doctor --run-task');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^✓ A task went to an agent, and its event came back on the stream \(\d+ ms\)\.$/m,
    );
    expect((await client.listAgents()).total).toBe(1);
    expect((await client.listTasks({ type: 'doctor' })).tasks).toHaveLength(1);
  });

  test('says which secret is wrong or missing and what to do, with exit code 4', async () => {
    const [wrong, missing] = await Promise.all([
      run('doctor -o json', {
        env: { TASK_GATEWAY_AUTH: 'wrong-one', TASK_GATEWAY_ADMIN_AUTH: 'wrong-two' },
      }),
      run('doctor', { env: { TASK_GATEWAY_AUTH: '', TASK_GATEWAY_ADMIN_AUTH: '' } }),
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
      /✗ No gateway secret was given, and the default one is wrong\. Set TASK_GATEWAY_AUTH/,
    );
    expect(missing.stdout).toMatch(
      /– No admin secret was given, so the agents were not checked\. Set TASK_GATEWAY_ADMIN_AUTH, or use --auth-file,/,
    );
  });

  test('sends the extra headers with every request: a proxy that asks for them lets all through', async () => {
    const proxy = createServer((incoming, answer) => {
      const { method, url = '', headers } = incoming;
      if (headers['x-edge'] !== 'open') return void answer.writeHead(403).end();
      const onward = request(`${gateway.baseUrl}${url}`, { method, headers }, (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      });
      onward.on('error', () => answer.destroy());
      incoming.pipe(onward);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    const words = ['doctor', '--url', `http://127.0.0.1:${port}`];
    const [open, shut] = await Promise.all([
      run(words, { env: { TASK_GATEWAY_HEADERS: 'X-Edge: open' } }),
      run(words),
    ]);
    proxy.close();
    expect(open).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(✓ .*\n){8}$/) });
    expect(shut).toMatchObject({ code: 1, stdout: expect.stringContaining('status 403') });
  });

  test('says that there is no server or another server, with exit code 1', async () => {
    const otherServer = createServer((_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => otherServer.listen(0, '127.0.0.1', resolve));
    const { port } = otherServer.address() as AddressInfo;
    const [nothing, other] = await Promise.all([
      run('doctor --url http://127.0.0.1:1'),
      run(`doctor -o jsonl --url http://127.0.0.1:${port}`),
    ]);
    otherServer.close();
    expect(nothing).toMatchObject({ code: 1, stdout: expect.stringMatching(/^✗ No response from .*--url/) });
    expect(other.code).toBe(1);
    expect(JSON.parse(other.stdout)).toMatchObject({ check: 'gateway', state: 'wrong' });
  });
});

test('Ctrl-C during an outage says that the task may continue, with exit code 130', async () => {
  const killed = await startGateway();
  const running = startCommand('run x -t no-agent --queue-timeout 60', {
    env: envFor(killed),
  });
  const own = createClient({ baseUrl: killed.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
  await expect.poll(async () => (await own.listTasks()).tasks.length, { timeout: 60_000 }).toBe(1);
  await killed.kill();
  running.signal('SIGINT');
  const { code, stderr } = await running.waitForExit();
  expect(code).toBe(130);
  expect(stderr).toMatch(
    /did not confirm the cancellation: task \S+ may continue\. Cancel it with "task-gateway task cancel \S+"/,
  );
});

test('SIGTERM ends a wait with exit code 143, and the task continues', async () => {
  const { request_id } = await client.submitTask({
    task_type: 'x',
    task_tags: ['no-agent'],
    payload: {},
    queue_timeout: 60,
  });
  const waiting = startCommand(`task wait ${request_id} --debug`, { env });
  await waiting.waitForLog('> GET http://');
  waiting.signal('SIGTERM');
  const { code, stderr } = await waiting.waitForExit();
  expect({ code, stderr }).toEqual({ code: 143, stderr: expect.stringContaining('Interrupted.') });
  expect((await client.getTask(request_id)).status).toBe('pending');
  await client.cancelTask(request_id);
});

test('a reader that closes standard output early is not a failure, and the SDK’s log is kept off standard output', async () => {
  writeLauncher(folder);
  for (let count = 0; count < 40; count += 1) {
    await client.submitTask({
      task_type: 'x',
      task_tags: ['no-agent'],
      payload: { text: 'x'.repeat(4_000) },
    });
  }
  const script = `task-gateway task list -n 40 -o jsonl | head -1 | cut -c 1-15; echo "\${PIPESTATUS[*]}"`;
  const logged = { ...env, TASK_GATEWAY_LOG: 'debug', PATH: `${folder}:${process.env.PATH}` };
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', script], { env: logged });
  expect({ stdout, stderr }).toEqual({ stdout: '{"request_id":"\n0 0 0\n', stderr: '' });
});

test('`run` whose reader has gone cancels its task and has exit code 141, as has `task wait`', async () => {
  writeLauncher(folder);
  const talker = createAgent({
    baseUrl: gateway.baseUrl,
    auth: SECRET,
    agentId: 'talker',
    tags: ['talk'],
    async handler({ task_type }, { signal, write }) {
      if (task_type === 'brief') return 'done';
      while (!signal.aborted) await Promise.all([write('on and on\n'), systemClock.sleep(20, signal)]);
      return null;
    },
  });
  await talker.start();
  const shell = { env: { ...env, PATH: `${folder}:${process.env.PATH}` } };
  const pipe = (words: string, reader: string) =>
    promisify(execFile)(
      ...(['bash', ['--norc', '-c', `task-gateway ${words} | ${reader}; echo "\${PIPESTATUS[0]}"`]] as const),
      shell,
    );
  const streamed = await pipe('run x -t talk --stream', 'head -1');
  expect(streamed.stdout).toBe('on and on\n141\n');
  const [, id = ''] = /^task-gateway: Cancelled task (\S+)\.\n$/.exec(streamed.stderr) ?? [];
  expect(await client.getTask(id)).toMatchObject({ error_info: 'cancelled by user' });
  const brief = await client.submitTask({ task_type: 'brief', task_tags: ['talk'], payload: {} });
  const said = 'task-gateway: Nothing reads standard output any more.\n';
  expect(await pipe(`task wait ${brief.request_id}`, 'true')).toEqual({ stdout: '141\n', stderr: said });
  await talker.stop({ drainMs: 0 });
});
