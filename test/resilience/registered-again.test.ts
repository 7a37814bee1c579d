/**
 * An agent registers at a gateway that is slow, or stands still, gives up, and registers at another one on
 * the same Redis. The first call goes on for an earlier registration: it takes no task from the agent, and
 * gives it none. Nor does a process that ends take its successor with it.
 * @module-tag redis
 */
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Agent, createAgent } from '../../sdk/agent/index.ts';
import { createClient } from '../../sdk/index.ts';
import { get, getAdmin, post, submit } from '../e2e/plain-calls.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';

/** So many that a call which names them, or leaves them out, takes four slices. */
const TASKS = 180;
const SLOW_MS = 300;
const WAIT = { timeout: 60_000, interval: 50 };

let redis: RedisProcess;
let network: TcpProxy;
let slow: GatewayProcess;
let quick: GatewayProcess;
beforeAll(async () => {
  redis = await startRedis();
  network = await startTcpProxy(redis.port);
  slow = await startGateway({ STORE: `redis://127.0.0.1:${network.port}` });
  quick = await startGateway({ STORE: redis.url });
});
afterEach(async () => {
  process.kill(slow.pid, 'SIGCONT');
  await network.setFault(null);
});
afterAll(async () => {
  await Promise.all([slow.stop(), quick.stop()]);
  await network.close();
  await redis.dispose();
});

function register(on: GatewayProcess, agent_id: string, request_ids: readonly string[], tag = agent_id) {
  const agent = { agent_id, endpoint: 'pull', agent_tags: [tag], max_concurrent: TASKS };
  return post(on.baseUrl, '/api/agent/register', { auth: SECRET, ...agent, request_ids });
}

/** Claims, ten at a time, until nothing is handed out any more. */
async function claimAll(agent_id: string): Promise<readonly string[]> {
  return (await Promise.all(Array.from({ length: 10 }, () => claimEach(agent_id)))).flat();
}

async function claimEach(agent_id: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (;;) {
    const claim = { auth: SECRET, agent_id, wait: 0 };
    const { status, body } = await post(quick.baseUrl, '/api/agent/claim', claim);
    if (status === 204) return ids;
    expect(status, JSON.stringify(body)).toBe(200);
    ids.push(String(body.request_id));
  }
}

/** Has the agent write one piece to each task. Returns the tasks whose write was not accepted. */
async function writeAll(agent_id: string, ids: readonly string[], from: number): Promise<readonly string[]> {
  const write = { auth: SECRET, agent_id, writer: 'next', from, pieces: [{ text: `${from}` }] };
  const receipts = await Promise.all(
    ids.map((request_id) => post(quick.baseUrl, '/api/agent/output', { ...write, request_id })),
  );
  return ids.filter((_, index) => receipts[index]?.body.accepted !== true);
}

/** An agent that has claimed all its tasks. Its name is the tag of its tasks. */
async function startAgent(agent_id: string): Promise<readonly string[]> {
  await register(quick, agent_id, []);
  const task = { task_tags: [agent_id], timeout: 300 };
  const ids = await Promise.all(Array.from({ length: TASKS }, () => submit(quick.baseUrl, task)));
  const claimed = new Set<string>();
  await vi.waitFor(async () => {
    for (const id of await claimAll(agent_id)) claimed.add(id);
    expect(claimed.size).toBe(TASKS);
  }, WAIT);
  return ids;
}

const registeredTime = async (agent_id: string) =>
  (await getAdmin(quick.baseUrl, `/api/admin/agents/${agent_id}`)).body.registered_time;

/** Resolves once Redis has the registration; the call goes on, also behind its 503 after 5 s. */
async function beginRegistering(agent_id: string, request_ids: readonly string[]) {
  const before = await registeredTime(agent_id);
  await network.setFault({ slowMs: SLOW_MS });
  const response = register(slow, agent_id, request_ids);
  await vi.waitFor(async () => expect(await registeredTime(agent_id)).not.toBe(before), WAIT);
  return {
    /** Lets the rest of the call run. Later calls of the same gateway, which take as long, are behind it. */
    async end() {
      await network.setFault(null);
      await response;
      for (let calls = 0; calls < 5; calls += 1) await register(slow, `${agent_id}-later`, []);
    },
  };
}

const signal = (name: NodeJS.Signals) => () => process.kill(slow.pid, name);

describe.each([
  ['is slow', () => {}, () => {}],
  ['stands still', signal('SIGSTOP'), signal('SIGCONT')],
] as const)('while the gateway of an earlier registration %s', (how, stop, goOn) => {
  test('what it left out stays with the agent that claimed and writes it: no write is refused', async () => {
    const agent_id = `left-out-${how.slice(0, 2)}`;
    const ids = await startAgent(agent_id);
    const first = await beginRegistering(agent_id, []);
    // What its first slice leaves out can be claimed again; the others are decided, and not committed yet.
    await vi.waitFor(async () => expect(await claimAll(agent_id)).not.toEqual([]), WAIT);
    stop();
    await register(quick, agent_id, []);
    await register(quick, `${agent_id}-other`, [], agent_id);
    expect(new Set(await claimAll(agent_id))).toEqual(new Set(ids));
    expect(await writeAll(agent_id, ids, 0)).toEqual([]);
    goOn();
    await first.end();
    expect(await writeAll(agent_id, ids, 1)).toEqual([]);
    expect(await claimAll(`${agent_id}-other`)).toEqual([]);
    for (const request_id of ids) {
      const report = { request_id, agent_id, status: 'success', result: {} };
      const { body } = await post(quick.baseUrl, '/api/agent/result', report);
      expect(body).toMatchObject({ accepted: true, status: 'success' });
      expect((await get(quick.baseUrl, `/api/cli/tasks/${request_id}`)).body.agent_id).toBe(agent_id);
    }
  });

  test('what it named is handed out to the agent that does not have it: no task is left without an agent', async () => {
    const agent_id = `named-${how.slice(0, 2)}`;
    const ids = await startAgent(agent_id);
    const first = await beginRegistering(agent_id, ids);
    stop();
    await register(quick, agent_id, []);
    goOn();
    await first.end();
    expect(new Set(await claimAll(agent_id))).toEqual(new Set(ids));
  });
});

test('In a rolling restart the process that ends neither unregisters nor drains its successor.', async () => {
  const { baseUrl } = quick;
  const start = async (): Promise<Agent> => {
    const own = { agentId: 'rolling', tags: ['rolling'], maxConcurrent: 100, handler: () => 'done' };
    const agent = createAgent({ baseUrl, auth: SECRET, listen: {}, ...own });
    await agent.start();
    return agent;
  };
  const old = await start();
  const successor = await start();
  onTestFinished(() => successor.stop({ drainMs: 0 }));
  const client = createClient({ baseUrl, auth: SECRET });
  const run = () => client.runTask({ task_type: 't', task_tags: ['rolling'], payload: {}, timeout: 60 });
  const tasks = Array.from({ length: 50 }, run);
  await old.stop();
  const outcomes = await Promise.all([...tasks, run()]);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['success']));
  const { body } = await getAdmin(baseUrl, '/api/admin/agents/rolling');
  expect(body).toMatchObject({ state: 'ready', current_load: 0 });
});
