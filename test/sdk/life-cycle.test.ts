/**
 * `start` and `stop` of an agent in any order, at any moment and any number of times: at the end nothing is
 * open, the gateway has no agent, and every call of both has come to an end.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { type Agent, createAgent } from '../../sdk/agent/index.ts';
import { createFakeGateway } from '../../sdk/testing/index.ts';

const RUNS = 60;
const folder = mkdtempSync(join(tmpdir(), 'task-gateway-life-cycle-'));
let agents = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One step of a schedule: turns of the event loop, then a call. */
const step = fc.record({ turns: fc.integer({ min: 0, max: 12 }), call: fc.constantFrom('start', 'stop') });

/** Takes so many turns of the event loop, with their input and output. */
async function takeTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Creates an agent with everything that it can have open, on a port that nothing else has. */
function createWholeAgent(isDown: boolean) {
  agents += 1;
  const outbox = join(folder, `${agents}.outbox`);
  const gateway = createFakeGateway({ push: async () => new Response(null, { status: 503 }) });
  if (isDown) gateway.fail();
  let endpoint: string | undefined;
  const agent = createAgent({
    ...gateway.options,
    ...{ agentId: 'a', tags: ['x'], outbox, listen: {}, handler: () => 'done', maxRetries: 0 },
    onNotice: (notice) => {
      if (notice.kind === 'registered') endpoint = notice.endpoint;
    },
  });
  return { agent, gateway, outbox, endpoint: () => endpoint };
}

/** Whether the address accepts connections. */
function isOpen(endpoint: string): Promise<boolean> {
  const { port, hostname } = new URL(endpoint);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.unref();
  });
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
      const { agent, gateway, outbox, endpoint } = createWholeAgent(isDown);
      await runSchedule(agent, steps);
      expect(agent.state).toBe('stopped');
      expect(gateway.agents()).toEqual([]);
      expect(existsSync(`${outbox}.lock`)).toBe(false);
      const address = endpoint();
      if (address !== undefined) expect(await isOpen(address)).toBe(false);
      await expect(agent.start()).rejects.toMatchObject({ code: 'invalid_option' });
    }),
    { numRuns: RUNS },
  );
}, 60_000);

test('A registration that is under way when the agent stops leaves no agent behind.', async () => {
  const gateway = createFakeGateway();
  const waiting: (() => void)[] = [];
  const fetch: typeof gateway.options.fetch = async (request, init) => {
    if (!request.url.endsWith('/register')) return await gateway.options.fetch(request, init);
    // The gateway has received it; its response, or a client that is gone, changes nothing about that.
    const response = gateway.options.fetch(request);
    await new Promise<void>((resolve, reject) => {
      waiting.push(resolve);
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
    });
    return await response;
  };
  const agent = createAgent({ ...gateway.options, fetch, agentId: 'a', tags: ['x'], handler: () => 'done' });
  const started = agent.start();
  while (waiting.length === 0) await takeTurns(1);
  const stopped = agent.stop();
  await takeTurns(5);
  waiting[0]?.();
  await Promise.all([started, stopped]);
  expect(gateway.agents()).toEqual([]);
});
