/** `agent exec` against a real gateway: what the program receives and returns, and when it ends. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type CommandProcess, isRunning, startProcess } from './cli-process.ts';
import { type CommandExit, type CommandOptions, type RunningCommand, startCommand } from './command-run.ts';
import { client, env, folder, gateway, PUSH_SECRET, run, useGateway } from './gateway-fixture.ts';

useGateway();

const started: RunningCommand[] = [];

beforeAll(() => {
  const other = { url: 'http://other.example', auth_env: 'TASK_SECRET_OF_A_CONTEXT' };
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ current: null, contexts: { other } }));
});

afterEach(async () => {
  for (const agent of started.splice(0)) {
    agent.signal('SIGINT');
    agent.signal('SIGINT');
    await agent.waitForExit();
  }
});

type Start = (words: readonly string[], options: CommandOptions) => RunningCommand;

/** Starts an agent, within this process unless told otherwise, and waits until it is registered. */
async function startAgent(
  tag: string,
  script: string,
  options: readonly string[] = [],
  start: Start = startCommand,
): Promise<RunningCommand> {
  const words = ['agent', 'exec', '--id', tag, '--tag', tag, ...options, '--', 'sh', '-c', script];
  const secrets = { TASK_GATEWAY_PUSH_SECRET: PUSH_SECRET, TASK_SECRET_OF_A_CONTEXT: 'not-for-programs' };
  const agent = start(words, {
    env: { ...env, ...secrets, TASK_GATEWAY_CONFIG: join(folder, 'config.json') },
  });
  started.push(agent);
  await agent.waitForLog('Registered');
  return agent;
}

function runTask(tag: string, more: object = {}) {
  return client.runTask({ task_type: '类型', task_tags: [tag, 'b,c'], payload: { text: '世界' }, ...more });
}

function stop(agent: RunningCommand, signal: 'SIGINT' | 'SIGTERM' = 'SIGINT'): Promise<CommandExit> {
  agent.signal(signal);
  return agent.waitForExit();
}

describe('a program as an agent', () => {
  test('receives the payload and the task, but no secret; its output is the result', async () => {
    const agent = await startAgent(
      'env',
      'echo "::progress 40::"; cat; echo; env | grep -E "^TASK_" | sort; echo note >&2',
      ['--id', '代理'],
    );
    const { result, request_id, create_time } = await runTask('env', {
      cli_session_id: '会话',
      timeout: 9.5,
    });
    expect(result).toEqual({
      output: [
        '{"text":"世界"}',
        'TASK_AGENT_ID=代理',
        `TASK_CREATE_TIME=${create_time}`,
        `TASK_GATEWAY_CONFIG=${join(folder, 'config.json')}`,
        ...[`TASK_GATEWAY_URL=${gateway.baseUrl}`, `TASK_REQUEST_ID=${request_id}`, 'TASK_SESSION=会话'],
        ...['TASK_TAGS=["env","b,c"]', 'TASK_TIMEOUT=9.5', 'TASK_TYPE=类型'],
      ].join('\n'),
    });
    const { code, stdout, stderr } = await stop(agent);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(
      /Registered as 代理 \(pull\) at http:\S+ with the tag env and 1 slot\.[\s\S]*taken: 类型[\s\S]* note\n[\s\S]* success\n[\s\S]*Stopped\.\n$/,
    );
    expect((await client.listAgents()).agents.map(({ agent_id }) => agent_id)).not.toContain('代理');
  });

  test('has more output than a result may have cut by default, also where its JSON is longer, and succeeds', async () => {
    const fill = `if [ "$TASK_TYPE" = plain ]; then tr '\\0' x; else cat; fi`;
    await startAgent('large', `head -c 1500000 /dev/zero | ${fill}`);
    for (const [task_type, character] of [['plain', 'x'] as const, ['escaped', '\0'] as const]) {
      const { status, result } = await runTask('large', { task_type });
      expect(status).toBe('success');
      expect(result).toEqual({ output: expect.any(String), truncated: true });
      const output = String(result?.output);
      const [begin = '', end = ''] = output.split('\n[… left out …]\n');
      expect(begin).toBe(character.repeat(begin.length));
      expect(end).toBe(character.repeat(65_536));
      const bytes = Buffer.byteLength(JSON.stringify(output));
      expect([bytes > 999_990, bytes <= 1_000_000]).toEqual([true, true]);
    }
  });

  test('starts beside a file of contexts that can’t be used, and says what that means', async () => {
    const file = join(folder, 'damaged.json');
    writeFileSync(file, '{');
    const more = { ...env, TASK_GATEWAY_CONFIG: file };
    const agent = startCommand('agent exec --tag damaged -- cat', { env: more });
    started.push(agent);
    await agent.waitForLog('Registered');
    expect((await runTask('damaged')).result).toEqual({ output: '{"text":"世界"}' });
    expect(agent.stderr()).toMatch(
      /^The configuration file ".*" can't be used: .*\. Programs get the variables with secrets that it may name\.\n/,
    );
  });

  test('is in the trace of its task, which a command takes from its own environment', async () => {
    const [TRACEPARENT, TRACESTATE] = ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'a=1,b=2'];
    await startAgent('trace', 'echo "$TRACEPARENT $TRACESTATE"');
    const line = 'run x --tag trace';
    const trace = { TRACEPARENT, TRACESTATE };
    expect((await run(line, { env: trace })).stdout).toBe(`${TRACEPARENT} ${TRACESTATE}\n`);
    // What no header can carry is left out.
    const spoiled = { ...trace, TRACEPARENT: `${TRACEPARENT}\nx: y` };
    expect(await run(line, { env: spoiled })).toMatchObject({ code: 0, stdout: ' \n' });
  });

  test('reports its progress while it runs', async () => {
    const agent = await startAgent('progress', 'echo "::progress 42::"; read -r line; sleep 1000');
    const { request_id } = await client.submitTask({ task_type: 'x', task_tags: ['progress'], payload: {} });
    await expect.poll(async () => (await client.getTask(request_id)).progress, { timeout: 60_000 }).toBe(42);
    await client.cancelTask(request_id);
    expect((await stop(agent)).code).toBe(0);
  });

  test('that fails gives its last error lines as the reason', async () => {
    const agent = await startAgent('fail', 'echo lost; echo "first" >&2; echo "磁盘已满" >&2; exit 7');
    await expect(runTask('fail')).rejects.toMatchObject({
      task: { error_info: 'first\n磁盘已满', result: null },
    });
    await agent.waitForLog(/^\[\w{6}\] failed: 磁盘已满 ← first$/m);
  });

  test('may write the whole result as JSON', async () => {
    await startAgent('json', 'cat', ['--result', 'json']);
    expect((await runTask('json')).result).toEqual({ text: '世界' });
  });

  test('runs --max tasks at once, fetched or pushed', async () => {
    const script = 'echo here >&2; read -r _; sleep 1';
    const fetching = await startAgent('fetched', script, ['--max', '3']);
    const pushed = await startAgent('pushed', script, ['--max', '3', '--listen', '127.0.0.1:0']);
    expect(pushed.stderr()).toMatch(/http:\/\/127\.0\.0\.1:\d+\//);
    const all = [1, 2, 3].flatMap(() => [runTask('fetched'), runTask('pushed')]);
    for (const agent of [fetching, pushed]) {
      // All three programs started before the first one exited.
      await expect.poll(() => agent.stderr().match(/ here$/gm)?.length, { timeout: 60_000 }).toBe(3);
    }
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(6).fill('success'));
  });
});

test('what a program writes to standard error takes no memory while nothing reads it', {
  tags: 'ps',
}, async () => {
  const lines = 'head -c 80000000 /dev/zero | tr "\\0" x | fold -w 2000 >&2';
  const agent = await startAgent('unread', `read -r _; ${lines}; echo written`, [], startProcess);
  const { child } = agent as CommandProcess;
  child.stderr?.pause();
  expect((await runTask('unread', { timeout: 60 })).result).toEqual({ output: 'written' });
  const kilobytes = Number(execFileSync('ps', ['-o', 'rss=', '-p', `${child.pid}`], { encoding: 'utf8' }));
  expect(kilobytes).toBeGreaterThan(10_000);
  expect(kilobytes).toBeLessThan(220_000);
  child.stderr?.resume();
  await agent.waitForLog(/\[\d+ lines were left out: standard error was not read\]/);
});

describe('all processes of a program end', () => {
  /** Writes the ids of the shell and of its child, ignores SIGTERM and never exits by itself. */
  const STUBBORN = 'trap "" TERM; sleep 1000 & echo "pids $$ $!" >&2; while :; do sleep 0.1; done';

  async function startStubborn(tag: string, killAfter = '0.3', start: Start = startCommand) {
    const agent = await startAgent(tag, STUBBORN, ['--kill-after', killAfter, '--drain', '20'], start);
    const submission = { task_type: 'x', task_tags: [tag], payload: {}, timeout: 60 };
    const { request_id } = await client.submitTask(submission);
    await agent.waitForLog(/pids \d+ \d+/);
    const [, ...pids] = /pids (\d+) (\d+)/.exec(agent.stderr()) ?? [];
    return { agent, request_id, pids: pids.map(Number) };
  }

  async function waitForNone(pids: readonly number[], timeout = 15_000) {
    expect(pids).toHaveLength(2);
    await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), { timeout, interval: 50 });
  }

  test('when the task is cancelled; the agent takes further tasks', async () => {
    const { agent, request_id, pids } = await startStubborn('cancelled');
    await client.cancelTask(request_id);
    // Long before the next heartbeat could report the cancellation.
    await waitForNone(pids, 8_000);
    await agent.waitForLog(/cancelled by user: the program gets SIGTERM, and SIGKILL in [\d.]+ s\n/);
    await agent.waitForLog(/dropped|already had an outcome/);
    await client.submitTask({ task_type: 'x', task_tags: ['cancelled'], payload: {} });
    await agent.waitForLog(/(taken[\s\S]*){2}/);
    agent.signal('SIGINT');
    await agent.waitForLog('Stopping');
    expect((await stop(agent)).code).toBe(0);
  });

  test('at the second Ctrl-C, and the task fails with that reason', async () => {
    const { agent, request_id, pids } = await startStubborn('stopped');
    agent.signal('SIGINT');
    await agent.waitForLog('Stopping');
    expect(pids.every(isRunning)).toBe(true);
    const { code } = await stop(agent);
    expect(code).toBe(0);
    await waitForNone(pids);
    expect(await client.getTask(request_id)).toMatchObject({
      status: 'failed',
      error_info: 'the agent was stopped before the task was done',
    });
  });

  test('at the third Ctrl-C without any delay', async () => {
    const { agent, pids } = await startStubborn('left', '20', startProcess);
    agent.signal('SIGINT');
    await agent.waitForLog('Stopping');
    agent.signal('SIGINT');
    await agent.waitForLog('Ending');
    expect((await stop(agent)).code).toBe(130);
    await waitForNone(pids);
  });

  test('by themselves after the first Ctrl-C: the running task is finished', async () => {
    const agent = await startAgent('drained', 'echo begun >&2; sleep 1; echo done');
    const { request_id } = await client.submitTask({ task_type: 'x', task_tags: ['drained'], payload: {} });
    await agent.waitForLog('begun');
    expect((await stop(agent, 'SIGTERM')).code).toBe(0);
    expect(await client.getTask(request_id)).toMatchObject({ status: 'success', result: { output: 'done' } });
  });
});
