/**
 * Aborts of runs at a real gateway, spread over all that a run does: 100, or as many as `ABORTS` says. Each
 * rejects in the same tick of the event loop, within 50 ms of the thread's own time, and no task goes on.
 * Wall time is printed alone: on a machine with other work it says when the thread got its turn.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, createAgent } from '../../sdk/agent/index.ts';
import { type AbortError, createClient } from '../../sdk/index.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { until } from './sdk-clock.ts';

const ABORTS = Number(process.env.ABORTS ?? 100);
const AT_ONCE = 20;
/** How long the agent works on a task. */
const WORK_MS = 60;
const REJECTED_WITHIN_MS = 50;

let gateway: GatewayProcess;
let agent: Agent;

beforeAll(async () => {
  gateway = await startGateway({});
  agent = createAgent({
    baseUrl: gateway.baseUrl,
    auth: SECRET,
    agentId: 'slow',
    tags: ['slow'],
    maxConcurrent: AT_ONCE,
    handler: (_task, { signal }) =>
      new Promise((resolve, reject) => {
        const done = setTimeout(() => resolve('done'), WORK_MS);
        signal.addEventListener('abort', () => {
          clearTimeout(done);
          reject(signal.reason);
        });
      }),
  });
  await agent.start();
});

afterAll(async () => {
  await agent?.stop({ drainMs: 0 });
  await gateway?.stop();
});

async function countStreams(): Promise<number> {
  const headers = { 'x-admin-auth': ADMIN_SECRET };
  const metrics = await (await fetch(`${gateway.baseUrl}/metrics`, { headers })).text();
  return Number(/^task_gateway_streams (\d+)$/m.exec(metrics)?.[1]);
}

type Abort = {
  readonly ms: number;
  readonly cpuMs: number;
  readonly turns: number;
  readonly error: AbortError;
};

/** Aborts a run after a part of `overMs`. Resolves to undefined where the run was over before. */
async function abortRun(n: number, overMs: number): Promise<Abort | undefined> {
  const ending = new AbortController();
  // Two of three wait by their stream; the third, in a session of the caller's, looks at its task.
  const client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET });
  const session = n % 3 === 0 ? { cli_session_id: `session-${n}` } : {};
  let abortedMs = Number.NaN;
  let before = process.threadCpuUsage();
  let turns = 0;
  const timer = setTimeout(
    () => {
      abortedMs = performance.now();
      before = process.threadCpuUsage();
      setImmediate(() => {
        turns += 1;
      });
      ending.abort();
    },
    ((n + 0.5) / ABORTS) * overMs,
  );
  const submission = { task_type: 'spread', task_tags: ['slow'], payload: { n }, timeout: 60, ...session };
  const error = await client.runTask(submission, { signal: ending.signal, cancelOnAbort: true }).then(
    () => undefined,
    (one: AbortError) => one,
  );
  const { user, system } = process.threadCpuUsage(before);
  clearTimeout(timer);
  const cpuMs = (user + system) / 1_000;
  return error && { ms: performance.now() - abortedMs, cpuMs, turns, error };
}

test(`${ABORTS} aborts spread over a run reject at once, and leave no task and no stream behind.`, async () => {
  // The aborts are spread over the shortest of some runs without one, in code that is warm: most hit a run.
  let runMs = Number.POSITIVE_INFINITY;
  const runWhole = async (n: number): Promise<void> => {
    const startMs = performance.now();
    expect(await abortRun(n, 60_000 * ABORTS)).toBeUndefined();
    runMs = Math.min(runMs, performance.now() - startMs);
  };
  for (let batch = 0; batch < 3; batch += 1) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => runWhole(n)));
  }
  const aborts: Abort[] = [];
  for (let from = 0; from < ABORTS; from += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, ABORTS - from) }, (_, n) => from + n);
    // Spread within each batch, too: neighbours in time are aborted in different batches.
    const spread = numbers.map((n) => abortRun((n * 37) % ABORTS, runMs));
    aborts.push(...(await Promise.all(spread)).filter((one) => one !== undefined));
  }
  expect(aborts.map(({ error }) => error.name).filter((name) => name !== 'AbortError')).toEqual([]);
  expect(aborts.length).toBeGreaterThan(ABORTS / 2);
  const times = aborts.map(({ ms }) => ms).sort((a, b) => a - b);
  const [p99 = 0, longest = 0] = [times[Math.floor(times.length * 0.99)], times.at(-1)];
  const cancelled = await Promise.all(aborts.map(({ error }) => error.cancelled));
  const named = aborts.filter(({ error }) => error.request_id !== undefined).length;
  console.info(
    `${aborts.length} aborts of ${ABORTS} runs, ${named} with a task; rejected within p99 ${p99.toFixed(2)} ms, ` +
      `at most ${longest.toFixed(2)} ms, of which ${Math.max(...aborts.map(({ cpuMs }) => cpuMs))} ms were its own`,
  );
  expect(aborts.filter(({ turns, cpuMs }) => turns > 0 || cpuMs >= REJECTED_WITHIN_MS)).toEqual([]);
  expect(cancelled.filter((one) => one !== true)).toEqual([]);
  for (const { error } of aborts) {
    expect(error).toMatchObject({ idempotencyKey: expect.any(String), cli_session_id: expect.any(String) });
  }
  const admin = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
  const { counts } = await admin.listTasks({ limit: 1, counts: true });
  expect(counts?.by_status).toMatchObject({ pending: 0, running: 0 });
  await until(async () => (await countStreams()) === 0, 'all streams are closed');
});
