/**
 * The whole surface of the SDK against a gateway that answers anything: nothing ends the process, and no call
 * throws a raw error. A rejection that nothing handles fails the run.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient, TaskGatewayError } from '../../sdk/index.ts';
import { HOSTILE_ANSWERS, type HostileGateway, startHostileGateway } from '../harness/hostile-gateway.ts';

const ANSWERS = Object.keys(HOSTILE_ANSWERS);
const LARGE: ReadonlySet<string> = new Set(['deep', 'huge', 'gzip-bomb', 'endless']);
const submission = { task_type: 'x', task_tags: ['x'], payload: {} };

const CALLS: Readonly<Record<string, (client: TaskGatewayClient) => Promise<unknown>>> = {
  submitTask: (client) => client.submitTask(submission),
  getTask: (client) => client.getTask('t', { wait: 0.1 }),
  cancelTask: (client) => client.cancelTask('t'),
  registerAgent: (client) => client.registerAgent({ agent_id: 'a', endpoint: 'pull', agent_tags: [] }),
  heartbeatAgent: (client) => client.heartbeatAgent({ agent_id: 'a' }),
  claimTask: (client) => client.claimTask({ agent_id: 'a' }),
  reportResult: (client) => client.reportResult({ request_id: 't', agent_id: 'a', status: 'success' }),
  unregisterAgent: (client) => client.unregisterAgent({ agent_id: 'a' }),
  listAgents: (client) => client.listAgents(),
  listTasks: (client) => client.listTasks(),
  getOverview: (client) => client.getOverview(),
  cancelTasks: (client) => client.cancelTasks({ request_ids: ['t'], created_before: 1 }),
  getAgent: (client) => client.getAgent('a'),
  drainAgent: (client) => client.drainAgent('a', { draining: true }),
};

let gateway: HostileGateway;
beforeAll(async () => {
  gateway = await startHostileGateway();
});
afterAll(() => gateway.close());

const optionsFor = (answer: string) => ({
  baseUrl: gateway.baseUrl(answer),
  auth: 'a-good-secret',
  adminAuth: 'another-secret',
  timeoutMs: 400,
  maxRetries: 1,
});

/** Fails unless the work resolves or throws an error of the SDK. */
async function expectOwnError(work: Promise<unknown>, what: string): Promise<void> {
  const error = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (error !== undefined && !(error instanceof TaskGatewayError)) {
    throw new Error(`${what}: a raw ${String(error)}`, { cause: error });
  }
}

describe.each(ANSWERS)('a gateway that answers %s', (answer) => {
  test('makes each call resolve or throw an error of the SDK, with one retry at most', async () => {
    const client = createClient(optionsFor(answer));
    const before = gateway.requests(answer);
    const calls = Object.entries(CALLS);
    // Few at once where each may take the client's whole limit of memory.
    const atOnce = LARGE.has(answer) ? 4 : calls.length;
    for (let first = 0; first < calls.length; first += atOnce) {
      const some = calls.slice(first, first + atOnce);
      await Promise.all(some.map(([name, call]) => expectOwnError(call(client), name)));
    }
    // A cancellation that may have taken effect also gets the task.
    expect(gateway.requests(answer) - before).toBeLessThanOrEqual(2 * calls.length + 2);
  });
});

/** Two agents, a run and a subscription go on by themselves, until each has had this answer. */
async function watch(answer: string): Promise<void> {
  const before = gateway.requests(answer);
  const client = createClient(optionsFor(answer));
  const ending = new AbortController();
  const agents = [false, true].map((registers) =>
    createAgent({
      ...optionsFor(answer),
      baseUrl: gateway.baseUrl(answer, { registers }),
      agentId: 'a',
      tags: ['x'],
      handler: () => 'done',
      heartbeatThread: false,
    }),
  );
  const run = client.runTask(submission, { signal: ending.signal });
  const read = async (): Promise<void> => {
    for await (const event of client.subscribeEvents('s', { signal: ending.signal })) void event;
  };
  const all = [...agents.map((agent) => agent.start()), run, read()].map((work) =>
    expectOwnError(work, answer),
  );
  await expect.poll(() => gateway.requests(answer) - before).toBeGreaterThanOrEqual(all.length);
  ending.abort();
  await Promise.all(agents.map((agent) => agent.stop({ drainMs: 0, graceMs: 0 })));
  await Promise.all(all);
  expect(agents.map(({ state }) => state)).toEqual(['stopped', 'stopped']);
}

describe('a gateway makes an agent, a run and a subscription throw no raw error', () => {
  const isLarge = (answer: string): boolean => LARGE.has(answer);

  test.each(ANSWERS.filter(isLarge))('that answers %s', watch);
  // They wait most of the time, so several are watched at once.
  test.concurrent.each(ANSWERS.filter((answer) => !isLarge(answer)))('that answers %s', watch);
});
