/**
 * An agent's own signal: wherever `start`, `stop` or `runAgent` waits, it rejects them in the same turn of
 * the event loop, the handlers' signals fire, and the agent stops: nothing stays open, and no task is left.
 *
 * The points at which an agent waits for something are counted: a secret, a response's head, its body, its
 * handler. At each of them it is aborted once, while what it waits for does not come.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { lockFile } from '../../sdk/agent/file-lock.ts';
import { type Agent, type AgentOptions, createAgent, runAgent } from '../../sdk/agent/index.ts';
import { type AbortError, createClient } from '../../sdk/index.ts';
import { flushMicrotasks } from '../harness/fake-clock.ts';
import { createSdkClock, elapse, until } from './sdk-clock.ts';
import { createSimulatedGateway } from './simulated-gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'task-gateway-agent-signal-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const submission = { task_type: 'x', task_tags: ['x'], payload: {}, queue_timeout: 30 };
/** A signal of the process that nothing else uses. */
const STOP = 'SIGUSR2';

/** Runs an agent until its task is done and it has stopped. `onAgent` is called with the agent. */
type Run = (options: AgentOptions, onAgent: (agent: Agent) => void, done: Promise<void>) => Promise<void>;

const RUNS: Readonly<Record<string, Run>> = {
  async createAgent(options, onAgent, done) {
    const agent = createAgent(options);
    onAgent(agent);
    await agent.start();
    await Promise.race([done, new Promise((resolve) => options.signal?.addEventListener('abort', resolve))]);
    await agent.stop();
  },
  runAgent(options, onAgent, done) {
    void done.then(() => process.emit(STOP));
    return runAgent(options, { signals: [STOP], onAgent });
  },
};

/** Runs an agent, and aborts it at one of its points; with 0 at none. */
async function abortAt(run: Run, at: number) {
  const gateway = createSimulatedGateway();
  const clock = createSdkClock();
  await createClient(gateway.options).submitTask(submission);
  const controller = new AbortController();
  const ended: { error?: AbortError; turns?: number; fired?: boolean; wasWorking?: boolean } = {};
  const handled = Promise.withResolvers<void>();
  let agent: Agent | undefined;
  let [points, turns, isWorking] = [0, 0, false];
  const pass = async <T>(value: T): Promise<T> => {
    points += 1;
    if (points !== at) return value;
    setImmediate(() => {
      setImmediate(() => {
        turns += 1;
      });
      ended.wasWorking = isWorking;
      controller.abort('enough');
    });
    await new Promise((resolve) => controller.signal.addEventListener('abort', resolve));
    return value;
  };
  const options: AgentOptions = {
    ...gateway.options,
    clock,
    agentId: 'a',
    tags: ['x'],
    signal: controller.signal,
    auth: () => pass(gateway.options.auth),
    async fetch(request, init) {
      const response = await pass(await gateway.options.fetch(request, init));
      const read = new TransformStream<Uint8Array, Uint8Array>({
        transform: async (chunk, out) => out.enqueue(await pass(chunk)),
      });
      return new Response(response.body?.pipeThrough(read), response);
    },
    async handler(_task, { signal }) {
      ended.fired = false;
      isWorking = true;
      signal.addEventListener('abort', () => {
        ended.fired = turns === 0;
      });
      await pass(undefined);
      await clock.sleep(500, signal);
      isWorking = false;
      if (!signal.aborted) return 'done';
      throw signal.reason;
    },
    onNotice: ({ kind }) => kind === 'reported' && handled.resolve(),
  };
  let isOver = false;
  void run(options, (one) => (agent = one), handled.promise)
    .catch((error: AbortError) => Object.assign(ended, { error, turns }))
    .then(() => {
      isOver = true;
    });
  // The code of the calls is loaded meanwhile, which takes real time.
  const untilMs = performance.now() + 10_000;
  while (!isOver && !controller.signal.aborted && performance.now() < untilMs) await clock.advance(100);
  const atMs = clock.nowMs();
  await flushMicrotasks();
  return { agent, gateway, clock, points, ended, isOver, passedMs: clock.nowMs() - atMs };
}

describe.each(Object.entries(RUNS))('%s', (name, run) => {
  test('is ended by its signal at each point at which it waits', async () => {
    const { points, ended, isOver } = await abortAt(run, 0);
    expect({ isOver, error: ended.error }).toEqual({ isOver: true, error: undefined });
    expect(points).toBeGreaterThan(15);
    let aborts = 0;
    for (let at = 1; at <= points; at += 1) {
      const what = `point ${at} of ${points}`;
      const aborted = await abortAt(run, at);
      const { error } = aborted.ended;
      if (error) {
        aborts += 1;
        const { name, cause } = error;
        expect({ name, cause, turns: aborted.ended.turns, passedMs: aborted.passedMs }, what).toEqual({
          name: 'AbortError',
          cause: 'enough',
          turns: 0,
          passedMs: 0,
        });
      }
      // Without an error nothing waited: the handler was at work, or the last response had come.
      await elapse(aborted.clock, error ? (error.stopped as Promise<void>) : (aborted.agent as Agent).stop());
      expect(aborted.agent?.state, what).toBe('stopped');
      expect(await aborted.gateway.agents(), what).toEqual([]);
      const statuses = (await aborted.gateway.tasks()).map(({ status }) => status);
      // A task that the agent never took is left to the gateway.
      if (aborted.ended.fired !== undefined) expect(statuses, what).not.toContain('running');
      expect(aborted.ended.fired ?? false, what).toBe(aborted.ended.wasWorking);
      expect(process.listenerCount(STOP), what).toBe(0);
    }
    expect(aborts).toBeGreaterThanOrEqual(8);
  });

  test('is ended by a signal that had fired before, and has asked for nothing', async () => {
    const gateway = createSimulatedGateway();
    let asked = 0;
    const auth = () => {
      asked += 1;
      return gateway.options.auth;
    };
    const signal = AbortSignal.abort('before');
    let agent: Agent | undefined;
    const options = { ...gateway.options, auth, signal, tags: ['x'], handler: () => 'done' };
    const running = run(options, (one) => (agent = one), Promise.resolve());
    await expect(running).rejects.toMatchObject({ name: 'AbortError', cause: 'before' });
    await agent?.stop();
    expect({ state: agent?.state, asked }).toEqual({ state: 'stopped', asked: 0 });
  });

  test('is ended at any tick of the event loop, and leaves neither its port nor its file', async () => {
    const ports = () => process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap').length;
    const before = ports();
    for (let ticks = 0; ticks < 40; ticks += 1) {
      const outbox = join(folder, `${name}-${ticks}`);
      const gateway = createSimulatedGateway({ push: () => new Response(null, { status: 503 }) });
      const controller = new AbortController();
      const options = { ...gateway.options, tags: ['x'], outbox, listen: {}, signal: controller.signal };
      const ending: Promise<AbortError | undefined> = run(
        { ...options, handler: () => 'done' },
        () => undefined,
        new Promise(() => undefined),
      ).then(
        () => undefined,
        (error) => error,
      );
      for (let tick = 0; tick < ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      const error = await ending;
      await error?.stopped;
      expect(await gateway.agents()).toEqual([]);
      await (await lockFile(outbox)).release();
    }
    await until(() => ports() === before, 'the ports are closed');
  });
});

test('Its handlers’ signals fire in the same call, and a later stop resolves when the agent has stopped.', async () => {
  const gateway = createSimulatedGateway();
  const controller = new AbortController();
  const working = Promise.withResolvers<AbortSignal>();
  const agent = createAgent({
    ...gateway.options,
    signal: controller.signal,
    tags: ['x'],
    handler: (_task, { signal }) => {
      working.resolve(signal);
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    },
  });
  await agent.start();
  const { request_id } = await createClient(gateway.options).submitTask(submission);
  const signal = await working.promise;
  controller.abort();
  expect(signal).toMatchObject({ aborted: true, reason: { code: 'agent_stopped' } });
  expect(agent.state).toBe('draining');
  await agent.stop();
  expect({ state: agent.state, agents: await gateway.agents() }).toEqual({ state: 'stopped', agents: [] });
  const failed = { request_id, status: 'failed', error_info: expect.stringContaining('stopped') };
  expect(await gateway.tasks()).toEqual([expect.objectContaining(failed)]);
});
