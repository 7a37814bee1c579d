/** `agent exec`: a program as an agent of a real gateway, from its first task to its last breath. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createClient, type TaskGatewayClient } from '../../sdk/client.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { envFor, type Running, startCommand } from './cli-process.ts';
import { isAlive } from './is-running.ts';

const PUSH_SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
let gateway: GatewayProcess;
let client: TaskGatewayClient;
const started: Running[] = [];

beforeAll(async () => {
  gateway = await startGateway({ PUSH_SECRET });
  client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
});

afterEach(async () => {
  for (const running of started.splice(0)) await running.kill();
});

afterAll(() => gateway?.stop());

/** Starts an agent and waits until it is registered. */
async function startAgent(tag: string, script: string, ...options: readonly string[]): Promise<Running> {
  const words = ['agent', 'exec', '--tag', tag, ...options, '--', 'sh', '-c', script];
  const agent = startCommand(words, { env: { ...envFor(gateway), TASK_GATEWAY_PUSH_SECRET: PUSH_SECRET } });
  started.push(agent);
  await agent.said('Registered');
  return agent;
}

function runTask(tag: string, more: object = {}) {
  return client.runTask({ task_type: '类型', task_tags: [tag, 'b,c'], payload: { text: '世界' }, ...more });
}

async function stop(agent: Running, signal: NodeJS.Signals = 'SIGINT') {
  agent.child.kill(signal);
  return agent.ended();
}

describe('a program as an agent', () => {
  test('gets the payload and the task, but no secret; what it writes is the result', async () => {
    const agent = await startAgent(
      'env',
      'echo "::progress 40::"; cat; echo; env | grep -E "^TASK_" | sort; echo note >&2',
      '--id',
      '代理',
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
        ...[`TASK_GATEWAY_URL=${gateway.baseUrl}`, `TASK_REQUEST_ID=${request_id}`, 'TASK_SESSION=会话'],
        ...['TASK_TAGS=["env","b,c"]', 'TASK_TIMEOUT=9.5', 'TASK_TYPE=类型'],
      ].join('\n'),
    });
    const { code, stdout, stderr } = await stop(agent);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(
      /Registered as 代理 \(pull\)[\s\S]*taken: 类型[\s\S]* note\n[\s\S]* success\n[\s\S]*Stopped\.\n$/,
    );
    expect((await client.listAgents()).agents.map(({ agent_id }) => agent_id)).not.toContain('代理');
  });

  test('tells its progress while it works', async () => {
    const agent = await startAgent('progress', 'echo "::progress 42::"; read -r line; sleep 1000');
    const { request_id } = await client.submitTask({ task_type: 'x', task_tags: ['progress'], payload: {} });
    await expect.poll(async () => (await client.getTask(request_id)).progress, { timeout: 15_000 }).toBe(42);
    await client.cancelTask(request_id);
    expect((await stop(agent)).code).toBe(0);
  });

  test('that fails gives its last words as the reason', async () => {
    await startAgent('fail', 'echo lost; echo "first" >&2; echo "磁盘已满" >&2; exit 7');
    await expect(runTask('fail')).rejects.toMatchObject({
      task: { error_info: 'first\n磁盘已满', result: null },
    });
  });

  test('may write the whole result as JSON', async () => {
    await startAgent('json', 'cat', '--result', 'json');
    expect((await runTask('json')).result).toEqual({ text: '世界' });
  });

  test('works on as many tasks at once as it is told, fetched or pushed', async () => {
    const meet = 'echo here >&2; read -r _; sleep 1';
    const pulled = await startAgent('meet', meet, '--max', '3');
    const pushed = await startAgent('meet-pushed', meet, '--max', '3', '--listen', '127.0.0.1:0');
    expect(pushed.stderr()).toMatch(/http:\/\/127\.0\.0\.1:\d+\//);
    const all = [1, 2, 3].flatMap(() => [runTask('meet'), runTask('meet-pushed')]);
    for (const agent of [pulled, pushed]) {
      // All three have begun before the first has ended.
      await expect.poll(() => agent.stderr().match(/ here$/gm)?.length, { timeout: 15_000 }).toBe(3);
    }
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(6).fill('success'));
  });
});

describe('the end of a program', () => {
  /** Writes the ids of the shell and of its child, and never ends by itself. */
  const STUBBORN = 'trap "" TERM; sleep 1000 & echo "pids $$ $!" >&2; while :; do sleep 0.1; done';

  async function startStubborn(tag: string, killAfter = '0.3') {
    const agent = await startAgent(tag, STUBBORN, '--kill-after', killAfter, '--drain', '20');
    const submission = { task_type: 'x', task_tags: [tag], payload: {}, timeout: 60 };
    const { request_id } = await client.submitTask(submission);
    await agent.said(/pids \d+ \d+/);
    const [, ...pids] = /pids (\d+) (\d+)/.exec(agent.stderr()) ?? [];
    return { agent, request_id, pids: pids.map(Number) };
  }

  async function untilGone(pids: readonly number[], timeout = 15_000) {
    expect(pids).toHaveLength(2);
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout, interval: 50 });
  }

  test('comes with the task’s cancellation, for all it started; the agent goes on', async () => {
    const { agent, request_id, pids } = await startStubborn('cancelled');
    await client.cancelTask(request_id);
    // Long before the next heartbeat would tell.
    await untilGone(pids, 8_000);
    await agent.said(/dropped|had ended before/);
    await client.submitTask({ task_type: 'x', task_tags: ['cancelled'], payload: {} });
    await agent.said(/(taken[\s\S]*){2}/);
    agent.child.kill('SIGINT');
    await agent.said('Stopping');
    expect((await stop(agent)).code).toBe(0);
  });

  test('comes with the second Ctrl-C, and the task fails with that reason', async () => {
    const { agent, request_id, pids } = await startStubborn('stopped');
    agent.child.kill('SIGINT');
    await agent.said('Stopping');
    expect(pids.every(isAlive)).toBe(true);
    const { code } = await stop(agent);
    expect(code).toBe(0);
    await untilGone(pids);
    expect(await client.getTask(request_id)).toMatchObject({
      ...{ status: 'failed', error_info: 'the agent was stopped before the task was done' },
    });
  });

  test('comes with the third Ctrl-C without any delay', async () => {
    const { agent, pids } = await startStubborn('left', '20');
    agent.child.kill('SIGINT');
    await agent.said('Stopping');
    agent.child.kill('SIGINT');
    await agent.said('Ending');
    expect((await stop(agent)).code).toBe(130);
    await untilGone(pids);
  });

  test('is waited for after the first: what is in hand is finished', async () => {
    const agent = await startAgent('drained', 'echo begun >&2; sleep 1; echo done');
    const { request_id } = await client.submitTask({ task_type: 'x', task_tags: ['drained'], payload: {} });
    await agent.said('begun');
    expect((await stop(agent, 'SIGTERM')).code).toBe(0);
    expect(await client.getTask(request_id)).toMatchObject({ status: 'success', result: { output: 'done' } });
  });
});
