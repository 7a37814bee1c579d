/**
 * A client that runs tasks loses no result and gets none twice, while its connections are cut at every class
 * of byte boundary and the gateway is killed and started again. `RUN_TASKS` is the number of tasks,
 * `RUN_SEED` chooses the cuts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient } from '../../sdk/index.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { startCuttingProxy } from './cutting-proxy.ts';

const TASKS = Number(process.env.RUN_TASKS ?? 250);
const SEED = Number(process.env.RUN_SEED ?? Date.now() % 1_000_000);
/** Runs at the same time. */
const AT_ONCE = 50;
/** Subscribers that read the whole session beside the runs; and, until each class is cut, behind them. */
const SUBSCRIBERS = 4;
const SUBSCRIBERS_MAX = 100;
/** The rest of the events, once nothing is cut any more, takes a few seconds. */
const READ_MS_MAX = 60_000;
const KILLS = Math.max(2, Math.ceil(TASKS / 2_500));
const MINUTES_MAX = 2 + TASKS / 500;

/** Runs work on all numbers below `count`, this many at once. */
async function runAll(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

/** A reader of all events of the session. */
type Subscriber = {
  readonly request_ids: readonly string[];
  /** Resolves when it has read an event of each task, or was closed. */
  readonly reading: Promise<void>;
  close(): void;
};

function startSubscriber(client: TaskGatewayClient): Subscriber {
  const events = client.subscribeEvents('runs');
  const request_ids: string[] = [];
  const reading = (async () => {
    for await (const { request_id } of events) if (request_ids.push(request_id) === TASKS) return;
  })();
  return { request_ids, reading, close: () => events.close() };
}

/** Waits until all have read everything; closes those that have not done so in time. */
async function finishReading(subscribers: readonly Subscriber[]): Promise<void> {
  const timeout = setTimeout(() => {
    for (const { close } of subscribers) close();
  }, READ_MS_MAX);
  await Promise.all(subscribers.map(({ reading }) => reading));
  clearTimeout(timeout);
}

/** Events that a subscriber never received. */
function countMissed(subscribers: readonly Subscriber[]): number {
  return subscribers.reduce((sum, { request_ids }) => sum + TASKS - new Set(request_ids).size, 0);
}

/** Events that a subscriber received more than once. */
function countRepeated(subscribers: readonly Subscriber[]): number {
  return subscribers.reduce(
    (sum, { request_ids }) => sum + request_ids.length - new Set(request_ids).size,
    0,
  );
}

/** A gateway that is killed and started again whenever another share of the tasks is done. */
async function startKilledGateway(settings: Readonly<Record<string, string>>) {
  let gateway: GatewayProcess = await startGateway(settings);
  const { baseUrl } = gateway;
  const { port } = new URL(baseUrl);
  let kills = 0;
  let killing: Promise<void> = Promise.resolve();
  return {
    baseUrl,
    port: Number(port),
    kills: () => kills,
    killInTime(done: number): void {
      if (done < ((kills + 1) * TASKS) / (KILLS + 1) || kills >= KILLS) return;
      kills += 1;
      killing = killing.then(async () => {
        await gateway.kill();
        gateway = await startGateway({ ...settings, PORT: port });
      });
    },
    /** Resolves when it runs again after the last kill. */
    awaitStart: () => killing,
    stop: () => gateway.stop(),
  };
}

/** An agent that works on every task, and notes the number in each payload. */
async function startWorker(baseUrl: string) {
  const worked = new Map<string, number>();
  const agent = createAgent({
    baseUrl,
    auth: SECRET,
    agentId: 'worker',
    tags: ['run'],
    maxConcurrent: 1_000,
    listen: {},
    handler: ({ request_id, payload }) => {
      worked.set(request_id, Number(payload.n));
      return { output: `完成 ${payload.n}` };
    },
  });
  await agent.start();
  return { worked, stop: () => agent.stop({ drainMs: 0, graceMs: 0 }) };
}

/** Runs all tasks; what each resolved with, by its number, and what any rejected with. */
async function runTasks(client: TaskGatewayClient, onDone: (done: number) => void) {
  const results = new Map<number, string[]>();
  const errors: unknown[] = [];
  let done = 0;
  await runAll(TASKS, async (n) => {
    const submission = { task_type: '跑', task_tags: ['run'], payload: { n }, cli_session_id: 'runs' };
    try {
      const { result } = await client.runTask({ ...submission, timeout: 600, queue_timeout: 300 });
      results.set(n, [...(results.get(n) ?? []), String(result.output)]);
    } catch (error) {
      errors.push(error);
    }
    done += 1;
    onDone(done);
  });
  return { results, errors };
}

test(`${TASKS} runs lose no result and get none twice (seed ${SEED})`, {
  timeout: MINUTES_MAX * 60_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-results-'));
  const gateway = await startKilledGateway({ STORE: `sqlite:${folder}/gateway.db` });
  const proxy = await startCuttingProxy(() => gateway.port, SEED);
  const worker = await startWorker(gateway.baseUrl);
  const startClient = (): TaskGatewayClient =>
    createClient({ baseUrl: proxy.url, auth: SECRET, maxRetries: 12, timeoutMs: 10_000 });
  const client = startClient();
  // A client has one stream for a session: each subscriber is a client, so that more streams are cut.
  const subscribers = Array.from({ length: SUBSCRIBERS }, () => startSubscriber(startClient()));
  const startMs = performance.now();
  try {
    const { results, errors } = await runTasks(client, gateway.killInTime);
    const seconds = (performance.now() - startMs) / 1_000;
    await gateway.awaitStart();
    // A cut stream pauses for seconds, so a short run may end before each class of boundary was cut.
    while ([...proxy.cuts.values()].includes(0) && subscribers.length < SUBSCRIBERS_MAX) {
      subscribers.push(startSubscriber(startClient()));
      await sleep(100);
    }
    proxy.stopCutting();
    await finishReading(subscribers);
    const [missed, repeated] = [countMissed(subscribers), countRepeated(subscribers)];
    const cuts = [...proxy.cuts.values()].reduce((sum, one) => sum + one, 0);
    console.info(
      `${TASKS} runs in ${seconds.toFixed(1)} s, ${cuts} cuts at ${proxy.cuts.size} classes of boundary, ` +
        `${gateway.kills()} kills (seed ${SEED}): ${TASKS - results.size + missed} lost, ${repeated} twice`,
    );
    console.info(Object.fromEntries(proxy.cuts));
    expect(errors).toEqual([]);
    expect(results.size).toBe(TASKS);
    for (const [n, outputs] of results) expect(outputs).toEqual([`完成 ${n}`]);
    expect(missed).toBe(0);
    expect(repeated).toBe(0);
    // No submission became two tasks.
    const numbers = [...worker.worked.values()].sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: TASKS }, (_, n) => n));
    expect([...proxy.cuts].filter(([, count]) => count === 0)).toEqual([]);
    expect(gateway.kills()).toBe(KILLS);
  } finally {
    for (const { close } of subscribers) close();
    await worker.stop();
    await proxy.close();
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
