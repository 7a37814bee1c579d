/**
 * Whether a client that runs tasks ever loses a result or gets one twice, while its connections are cut at every class
 * of byte boundary and the gateway is killed and started again. `RUN_TASKS` says how many tasks, `RUN_SEED` which cuts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { createClient } from '../../sdk/index.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { startCuttingProxy } from './cutting-proxy.ts';

const TASKS = Number(process.env.RUN_TASKS ?? 250);
const SEED = Number(process.env.RUN_SEED ?? Date.now() % 1_000_000);
/** Runs at the same time. */
const AT_ONCE = 50;
/** Those who read the whole session beside the runs. */
const SUBSCRIBERS = 4;
/** The rest of the events, once nothing is cut any more, takes a few seconds. */
const READ_MS_MAX = 60_000;
const KILLS = Math.max(2, Math.ceil(TASKS / 2_500));
const MINUTES_MAX = 2 + TASKS / 500;

/** Numbers in [0, 1) from a seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Runs work on all numbers below `count`, so many at once. */
async function runAll(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

/** Events that a reader was never told. */
function countMissed(readers: readonly { readonly told: readonly string[] }[]): number {
  return readers.reduce((sum, { told }) => sum + TASKS - new Set(told).size, 0);
}

/** Events that a reader was told more than once. */
function countTwice(readers: readonly { readonly told: readonly string[] }[]): number {
  return readers.reduce((sum, { told }) => sum + told.length - new Set(told).size, 0);
}

test(`${TASKS} runs lose no result and get none twice (seed ${SEED})`, {
  timeout: MINUTES_MAX * 60_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-results-'));
  const settings = { STORE: `sqlite:${join(folder, 'gateway.db')}` };
  let gateway: GatewayProcess = await startGateway(settings);
  const { port } = new URL(gateway.baseUrl);
  const proxy = await startCuttingProxy(() => Number(port), createRandom(SEED));
  const worked = new Map<string, number>();
  const agent = createAgent({
    ...{
      baseUrl: gateway.baseUrl,
      auth: SECRET,
      agent_id: 'worker',
      tags: ['run'],
      maxConcurrent: 1_000,
      listen: {},
    },
    handler: ({ request_id, payload }) => {
      worked.set(request_id, Number(payload.n));
      return { output: `完成 ${payload.n}` };
    },
  });
  await agent.start();
  const client = createClient({ baseUrl: proxy.url, auth: SECRET, maxRetries: 12, timeoutMs: 10_000 });
  const subscribers = Array.from({ length: SUBSCRIBERS }, () => {
    const events = client.subscribeEvents('runs');
    const told: string[] = [];
    const reading = (async () => {
      for await (const { request_id } of events) if (told.push(request_id) === TASKS) return;
    })();
    return { events, told, reading };
  });
  const results = new Map<number, string[]>();
  const errors: unknown[] = [];
  let done = 0;
  let kills = 0;
  let killing: Promise<void> = Promise.resolve();

  /** Kills the gateway whenever another share of the tasks is done, and starts it again. */
  function killInTime(): void {
    if (done < ((kills + 1) * TASKS) / (KILLS + 1) || kills >= KILLS) return;
    kills += 1;
    killing = killing.then(async () => {
      await gateway.kill();
      gateway = await startGateway({ ...settings, PORT: port });
    });
  }

  const startMs = performance.now();
  try {
    await runAll(TASKS, async (n) => {
      const submission = { task_type: '跑', task_tags: ['run'], payload: { n }, cli_session_id: 'runs' };
      try {
        const { result } = await client.runTask({ ...submission, timeout: 600, queue_timeout: 300 });
        results.set(n, [...(results.get(n) ?? []), String(result.output)]);
      } catch (error) {
        errors.push(error);
      }
      done += 1;
      killInTime();
    });
    const seconds = (performance.now() - startMs) / 1_000;
    await killing;
    proxy.spare();
    // A reader that misses an event would wait for it for ever.
    const patience = setTimeout(() => {
      for (const { events } of subscribers) events.close();
    }, READ_MS_MAX);
    await Promise.all(subscribers.map(({ reading }) => reading));
    clearTimeout(patience);
    const cuts = [...proxy.cuts.values()].reduce((sum, one) => sum + one, 0);
    console.info(
      `${TASKS} runs in ${seconds.toFixed(1)} s, ${cuts} cuts at ${proxy.cuts.size} classes of boundary, ` +
        `${kills} kills (seed ${SEED}): ${TASKS - results.size + countMissed(subscribers)} lost, ${countTwice(subscribers)} twice`,
    );
    console.info(Object.fromEntries(proxy.cuts));
    expect(errors).toEqual([]);
    expect(results.size).toBe(TASKS);
    for (const [n, outputs] of results) expect(outputs).toEqual([`完成 ${n}`]);
    expect(countMissed(subscribers)).toBe(0);
    expect(countTwice(subscribers)).toBe(0);
    // No submission became two tasks.
    expect([...worked.values()].sort((a, b) => a - b)).toEqual(Array.from({ length: TASKS }, (_, n) => n));
    expect([...proxy.cuts].filter(([, count]) => count === 0)).toEqual([]);
    expect(kills).toBe(KILLS);
  } finally {
    for (const { events } of subscribers) events.close();
    await agent.stop({ drainMs: 0, graceMs: 0 });
    await proxy.close();
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
