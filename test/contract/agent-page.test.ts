/**
 * The page "An agent in five calls" is run: the calls with curl in one shell, each response compared with
 * what the page shows, and the program in Python with tasks that end in each way.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createClient, type TaskGatewayClient } from '../../sdk/index.ts';
import { DEFAULT_GATEWAY_AUTH } from '../../server/config/settings.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { readBlocks } from '../harness/readme-blocks.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { listWords, readTable } from './guide.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../generated/agent-in-five-calls.md'), 'utf8');
const WAIT = { timeout: 60_000, interval: 20 };
const AGENT_ID = 'capitals-1';
const CALLS = ['register', 'heartbeat', 'claim', 'result', 'unregister'];
const run = promisify(execFile);
const blocks = readBlocks(PAGE);
const textsOf = (wanted: string): readonly string[] =>
  blocks.filter(({ role }) => role === wanted).map(({ text }) => text);

let gateway: GatewayProcess;
let client: TaskGatewayClient;
beforeAll(async () => {
  gateway = await startGateway();
  client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
});
afterAll(async () => void (await gateway.stop()));

/** Runs a script behind the page's first block, with the address and the secret of this gateway. */
async function runShell(script: string): Promise<string> {
  const [setup = ''] = textsOf('setup');
  const own = setup.replace('http://127.0.0.1:8080', gateway.baseUrl).replace(DEFAULT_GATEWAY_AUTH, SECRET);
  expect(own).toContain(`${gateway.baseUrl} TASK_GATEWAY_AUTH=${SECRET}\n`);
  return (await run('bash', ['-euc', own + script])).stdout;
}

/** What differs from run to run. */
function maskVariables(text: string): object {
  const written = text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID');
  return JSON.parse(written, (key, value) => {
    return key === 'registration' ? typeof value : key === 'create_time' ? Math.sign(value) : value;
  });
}

test('the calls with curl print what the page shows, in the order of its numbers', {
  tags: 'curl',
}, async () => {
  const steps = textsOf('call');
  const order = ['register', 'claim', 'heartbeat', 'result', 'unregister'];
  for (const [index, step] of steps.entries()) expect(step).toContain(`$API/agent/${order[index]} `);
  const printed = (await runShell(steps.join('echo ---\n'))).split('---\n');
  expect(printed.map(maskVariables)).toEqual(textsOf('answer').map(maskVariables));
  expect(printed).toHaveLength(CALLS.length);
});

test('the other report ends the task as failed, with the reason for its client', {
  tags: 'curl',
}, async () => {
  const [register, claim, , , unregister] = textsOf('call');
  const steps = [register, claim, textsOf('failed').join(), unregister, 'echo $ID\n'];
  const printed = (await runShell(steps.join('echo ---\n'))).split('---\n');
  expect(printed.slice(2, 3).map(maskVariables)).toEqual(textsOf('failed-answer').map(maskVariables));
  // Run after the call of step 4, it would be refused: that one has ended the task.
  const [before = ''] = PAGE.split('\n```sh failed\n');
  expect(before.trim().split('\n\n').at(-1)).toMatch(/^Or, instead of the call above, /);
  expect(await client.getTask(printed.at(-1)?.trim() ?? '')).toMatchObject({
    status: 'failed',
    error_info: 'ValueError: the text is empty',
  });
});

test('the five calls of the guide, sent as they stand, take a task to its end', async () => {
  const submission = { task_type: 'shout', task_tags: ['capitals'], payload: {}, queue_timeout: 60 };
  const statuses: string[] = [];
  let request_id = '';
  for (const { Call, Body } of readTable('An agent in five calls')) {
    const body = (listWords(Body)[0] ?? '').replace('"SECRET"', JSON.stringify(SECRET));
    const call = { method: 'POST', body: body.replace('"ID"', JSON.stringify(request_id)) };
    const send = async () => (await fetch(gateway.baseUrl + listWords(Call)[0], call)).status;
    let status = await send();
    // The task may be assigned just after its submission.
    while (status === 204) status = await send();
    statuses.push(String(status));
    request_id ||= (await client.submitTask(submission)).request_id;
  }
  expect(statuses).toEqual(readTable('An agent in five calls').map(({ Response }) => Response?.slice(0, 3)));
  expect(await client.getTask(request_id)).toMatchObject({ status: 'success', result: { output: 'HELLO' } });
});

/** Starts the program of the page; it is killed with the test if it still runs then. */
function startAgent(change: (text: string) => string = (text) => text, url = gateway.baseUrl) {
  const [text = ''] = textsOf('agent');
  const env = { ...process.env, TASK_GATEWAY_URL: url, TASK_GATEWAY_AUTH: SECRET };
  const agent = spawn('python3', ['-c', change(text)], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [agent.stdout, agent.stderr]) stream.on('data', (part) => (printed += part));
  const closed = once(agent, 'close');
  onTestFinished(async () => {
    agent.kill('SIGKILL');
    await closed;
  });
  return {
    reach: (lines: string) => vi.waitFor(() => expect(printed).toBe(lines), WAIT),
    /** As `reach`, where the words of a fault differ. */
    reachLike: (lines: RegExp) => vi.waitFor(() => expect(printed).toMatch(lines), WAIT),
    /** Resolves with the exit code when it has ended. */
    stop: async (signal: NodeJS.Signals) => {
      agent.kill(signal);
      return (await closed)[0];
    },
  };
}

/** The program with quick heartbeats and claims. It says when it begins to work; a long task waits. */
function lengthenWork(text: string): string {
  const waits =
    '    print("works", flush=True)\n' +
    '    while task["payload"].get("long") and task["request_id"] not in cancelled and not stopped.is_set():\n' +
    '        time.sleep(0.01)\n';
  const changes = [
    ['args=[register()]', 'args=[register() / 150]'],
    ['wait=30', 'wait=1'],
    ['    return {"output"', `${waits}    return {"output"`],
  ] as const;
  return changes.reduce((changed, [from, to]) => {
    expect(changed).toContain(from);
    return changed.replace(from, to);
  }, text);
}

const submit = (payload: Readonly<Record<string, unknown>>) =>
  client.submitTask({ task_type: 'shout', task_tags: ['capitals'], payload });

describe('the program in Python', { tags: 'python' }, () => {
  test('does the task that the page submits, fails one without text, and unregisters', {
    tags: 'curl',
  }, async () => {
    const agent = startAgent((text) => text, `${gateway.baseUrl}/`);
    await agent.reach('ready\n');
    expect(await runShell(textsOf('submit').join(''))).toBe('"result":{"output":"HELLO"}\n');
    const { request_id } = await submit({});
    const failed = await client.getTask(request_id, { wait: 20 });
    expect(failed).toMatchObject({ status: 'failed', error_info: "KeyError('text')" });
    expect(await agent.stop('SIGTERM')).toBe(0);
    expect((await client.listAgents()).agents).toEqual([]);
  });

  test('says once that there is no gateway, and once that it is back, and stops without one', async () => {
    const proxy = await startTcpProxy(Number(new URL(gateway.baseUrl).port));
    onTestFinished(() => proxy.close());
    await proxy.setFault('refuse');
    const agent = startAgent(lengthenWork, `http://127.0.0.1:${proxy.port}`);
    await agent.reach('gateway: <urlopen error [Errno 111] Connection refused>, trying again\n');
    await proxy.setFault(null);
    await agent.reachLike(/again\ngateway: can be used again\nready\n$/);
    await proxy.setFault('refuse');
    await agent.reachLike(/ready\ngateway: .*, trying again\n$/);
    await proxy.setFault(null);
    await agent.reachLike(/ready\ngateway: .*, trying again\ngateway: can be used again\n$/);
    await proxy.setFault('refuse');
    expect(await agent.stop('SIGINT')).toBe(0);
    await agent.reachLike(/again\ngateway: .*, trying again\nstopped\n$/);
  });

  test('registers again when it is forgotten, and learns from a heartbeat what is cancelled', async () => {
    const agent = startAgent(lengthenWork);
    await agent.reach('ready\n');
    await client.unregisterAgent({ agent_id: AGENT_ID });
    await agent.reach('ready\nready\n');
    const { request_id } = await submit({ long: true, text: 'unwanted' });
    await agent.reach('ready\nready\nworks\n');
    await client.cancelTask(request_id);
    const next = await submit({ text: 'after' });
    expect(await client.getTask(next.request_id, { wait: 20 })).toMatchObject({
      result: { output: 'AFTER' },
    });
    expect(await agent.stop('SIGINT')).toBe(0);
  });

  test('gets its task again after it was killed, and ends it before it stops', async () => {
    const killed = startAgent(lengthenWork);
    await killed.reach('ready\n');
    const { request_id } = await submit({ long: true, text: 'again' });
    await killed.reach('ready\nworks\n');
    const acknowledged = async () => {
      const { agents } = await client.listAgents();
      expect(agents).toMatchObject([{ agent_id: AGENT_ID, unacknowledged: 0 }]);
    };
    await vi.waitFor(acknowledged, WAIT);
    await killed.stop('SIGKILL');
    const agent = startAgent(lengthenWork);
    await agent.reach('ready\nworks\n');
    expect(await agent.stop('SIGTERM')).toBe(0);
    expect(await client.getTask(request_id)).toMatchObject({
      status: 'success',
      result: { output: 'AGAIN' },
    });
    expect((await client.listAgents()).agents).toEqual([]);
  });
});

test('the table names the five calls', () => {
  const named = [...PAGE.matchAll(/^\| `(\w+)` \|/gm)].map(([, call]) => call);
  expect(named).toEqual(CALLS);
});
