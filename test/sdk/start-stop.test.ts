/**
 * `start` and `stop` of an agent in any order, at any moment and any number of times: at the end nothing is
 * open, the gateway has no agent, and every call of both has come to an end.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { lockFile } from '../../sdk/agent/file-lock.ts';
import { type Agent, createAgent, runAgent } from '../../sdk/agent/index.ts';
import { createClient } from '../../sdk/index.ts';
import { createSdkClock } from './sdk-clock.ts';
import { createSimulatedGateway } from './simulated-gateway.ts';

const RUNS = 60;
const submission = { task_type: 'x', task_tags: ['x'], payload: {}, queue_timeout: 30 };
const folder = mkdtempSync(join(tmpdir(), 'task-gateway-life-cycle-'));
let agents = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One step of a schedule: ticks of the event loop, then a call. */
const step = fc.record({ turns: fc.integer({ min: 0, max: 12 }), call: fc.constantFrom('start', 'stop') });

/** Takes this many ticks of the event loop, with their input and output. */
async function takeTurns(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Creates an agent with everything that it can have open, on a port that nothing else has. */
function createWholeAgent(isDown: boolean) {
  agents += 1;
  const outbox = join(folder, `${agents}.outbox`);
  const gateway = createSimulatedGateway({ push: () => new Response(null, { status: 503 }) });
  if (isDown) gateway.world.faults.add({ fault: 'no_response' });
  const agent = createAgent({
    ...gateway.options,
    agentId: 'a',
    tags: ['x'],
    outbox,
    listen: {},
    handler: () => 'done',
    maxRetries: 0,
  });
  return { agent, gateway, outbox };
}

/** Returns how many ports this process listens on. What is being closed counts until a turn has passed. */
async function countPorts(): Promise<number> {
  await takeTurns(2);
  return process.getActiveResourcesInfo().filter((resource) => resource === 'TCPServerWrap').length;
}

async function runSchedule(agent: Agent, steps: readonly { turns: number; call: string }[]): Promise<void> {
  const calls: Promise<unknown>[] = [];
  for (const { turns, call } of [...steps, { turns: 3, call: 'stop' }]) {
    await takeTurns(turns);
    const limits = { drainMs: 50, graceMs: 10 };
    calls.push(call === 'start' ? agent.start().catch((error: unknown) => error) : agent.stop(limits));
  }
  await Promise.all(calls);
}

test('Whatever the schedule, an agent that was stopped has nothing open and is not registered.', async () => {
  const schedule = fc.array(step, { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(schedule, fc.boolean(), async (steps, isDown) => {
      const before = await countPorts();
      const { agent, gateway, outbox } = createWholeAgent(isDown);
      await runSchedule(agent, steps);
      expect(agent.state).toBe('stopped');
      gateway.world.faults.clear();
      expect(await gateway.agents()).toEqual([]);
      await (await lockFile(outbox)).release();
      expect(await countPorts()).toBe(before);
      await expect(agent.start()).rejects.toMatchObject({ code: 'invalid_option' });
    }),
    { numRuns: RUNS },
  );
});

test('A registration that is under way when the agent stops leaves no agent behind.', async () => {
  const gateway = createSimulatedGateway();
  const waiting: (() => void)[] = [];
  const fetch: typeof gateway.options.fetch = async (request, init) => {
    if (!request.url.endsWith('/register')) return await gateway.options.fetch(request, init);
    // The gateway has received it, and takes its time; a client that has gone changes nothing about that.
    const released = new Promise<void>((resolve) => waiting.push(resolve));
    const response = released.then(() => gateway.options.fetch(request));
    const aborted = new Promise<never>((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
    });
    return await Promise.race([response, aborted]);
  };
  const agent = createAgent({ ...gateway.options, fetch, agentId: 'a', tags: ['x'], handler: () => 'done' });
  const started = agent.start();
  while (waiting.length === 0) await takeTurns(1);
  const stopped = agent.stop();
  await takeTurns(50);
  for (const release of waiting) release();
  await Promise.all([started, stopped]);
  await takeTurns(5);
  expect(await gateway.agents()).toEqual([]);
});

test('A run ends when the agent is stopped by its caller, not by a signal, and listens for no signal any more.', async () => {
  const gateway = createSimulatedGateway();
  const before = process.listenerCount('SIGUSR2');
  let agent: Agent | undefined;
  const onAgent = (one: Agent): void => {
    agent = one;
  };
  const options = { ...gateway.options, agentId: 'a', tags: ['x'], handler: () => 'done' };
  const run = runAgent(options, { signals: ['SIGUSR2'], onAgent });
  while ((await gateway.agents()).length === 0) await takeTurns(1);
  await expect(agent?.stop({ drainMs: -1 })).rejects.toMatchObject({ code: 'invalid_option' });
  expect(agent?.state).toBe('working');
  await agent?.stop();
  await run;
  expect(await gateway.agents()).toEqual([]);
  expect(process.listenerCount('SIGUSR2')).toBe(before);
});

test('An agent that stops while its outbox opens waits for nothing, and leaves the outcomes in it.', async () => {
  const { options } = createSimulatedGateway();
  const outbox = join(folder, 'kept.outbox');
  const line = JSON.stringify({
    keep: { request_id: 't1', agent_id: 'a', status: 'success', result: {} },
  });
  writeFileSync(outbox, `${line}\n`, { mode: 0o600 });
  // Its time does not pass: stopping is over without a single wait.
  const clock = createSdkClock();
  const agent = createAgent({ ...options, clock, tags: ['x'], outbox, handler: () => 'done' });
  const started = agent.start();
  await agent.stop();
  await started;
  expect(readFileSync(outbox, 'utf8')).toBe(`${line}\n`);
}, 20_000);

/**
 * Starts an agent with a claim under way: the gateway has handed out its task, and the response is held until
 * the agent sends this heartbeat. Its time does not pass.
 */
async function startWithHeldClaim(heartbeat: number) {
  const gateway = createSimulatedGateway();
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let heartbeats = 0;
  const fetch: typeof gateway.options.fetch = async (request, init) => {
    const response = await gateway.options.fetch(request, init);
    if (request.url.endsWith('/heartbeat')) heartbeats += 1;
    if (heartbeats === heartbeat) released.resolve();
    if (!request.url.endsWith('/claim') || response.status !== 200) return response;
    held.resolve();
    const aborted = new Promise<never>((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
    });
    return await Promise.race([released.promise.then(() => response), aborted]);
  };
  const handled: string[] = [];
  const agent = createAgent({
    ...gateway.options,
    fetch,
    clock: createSdkClock(),
    agentId: 'a',
    tags: ['x'],
    handler: ({ request_id }) => void handled.push(request_id),
  });
  await agent.start();
  const client = createClient(gateway.options);
  const { request_id } = await client.submitTask(submission);
  await held.promise;
  return { gateway, agent, handled, request_id, heartbeats: () => heartbeats };
}

test.each([1, 2])(
  'An agent that stops finishes the task that its claim brings after heartbeat %i.',
  async (heartbeat) => {
    const { gateway, agent, handled, request_id } = await startWithHeldClaim(heartbeat);
    await agent.stop();
    expect(handled).toEqual([request_id]);
    expect(await gateway.tasks()).toMatchObject([{ request_id, status: 'success' }]);
    expect(await gateway.agents()).toEqual([]);
  },
);

test('An agent that has no time to stop takes no task any more.', async () => {
  const { gateway, agent, handled, heartbeats } = await startWithHeldClaim(1);
  await agent.stop({ drainMs: 0 });
  expect([handled, heartbeats()]).toEqual([[], 1]);
  expect(await gateway.tasks()).toMatchObject([{ status: 'running' }]);
});

test('A claim that brings nothing more does not hold up an agent that stops.', async () => {
  const { agent, handled, heartbeats } = await startWithHeldClaim(Number.POSITIVE_INFINITY);
  await agent.stop();
  expect([handled, heartbeats()]).toEqual([[], 3]);
});
