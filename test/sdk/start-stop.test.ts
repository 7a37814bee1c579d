/**
 * `start` and `stop` of an agent in any order, at any moment and any number of times: at the end nothing is
 * open, the gateway has no agent, and every call of both has come to an end.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { lockFile } from '../../sdk/agent/file-lock.ts';
import { type Agent, createAgent } from '../../sdk/agent/index.ts';
import { createSimulatedGateway } from './simulated-gateway.ts';

const RUNS = 60;
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
