/**
 * `npm run bench:soak`: one gateway under a steady load for an hour, and its curve: resident memory, open
 * descriptors, the delay of its event loop, CPU, the size of its database. At the end the load stops for a
 * while: memory that was only in use falls, memory that leaked stays.
 *
 * The load is an open loop at a stated rate: a task is submitted when it is due, whether or not earlier ones
 * have ended. The delay is what `GET /livez` takes, which does nothing but pass through the event loop.
 * Client and agent run in this process. Prints one line a minute, writes a table and a drawing to
 * `test/bench/results/`.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { readScriptOptions } from '../harness/script-options.ts';
import { call, openStream, PAYLOAD, SECRET, startAgent } from './parties.ts';
import { readCpuMs, readRssMb } from './process-figures.ts';
import { describeMachine, drawCurve, median, tabulate } from './report.ts';
import { startGateway, startRedis } from './servers.ts';

const values = readScriptOptions('npm run bench:soak', {
  minutes: { type: 'string', value: 'NUMBER', default: '60' },
  rate: { type: 'string', value: 'NUMBER', default: '100' },
  store: { type: 'string', value: 'sqlite|memory|redis', default: 'sqlite' },
  /** Six seconds; writes nothing. */
  smoke: { type: 'boolean', default: false },
});
const minutes = values.smoke ? 0.1 : Number(values.minutes);
const rate = Number(values.rate);
const STORE = values.store;
/** Each task's session: a few of them live long, as the sessions of people do. */
const SESSIONS = 20;
const CAPACITY = 1_000;
const PROBE_EVERY_MS = 50;
/** How long the load stops at the end. */
const REST_MINUTES = minutes / 12;
const RESULTS = join(import.meta.dirname, 'results');

type Minute = {
  readonly minute: number;
  readonly tasks: number;
  readonly rssMb: number;
  readonly descriptors: number;
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  readonly cpuMs: number;
  readonly storeMb: number;
};

const folder = mkdtempSync(join(tmpdir(), 'task-gateway-soak-'));
const redis = STORE === 'redis' ? await startRedis('always') : null;
const gateway = await startGateway(
  'soak',
  redis ?? (STORE === 'memory' ? 'memory:' : `sqlite:${folder}/soak.db`),
);
const wire = new Agent({ connections: 64, pipelining: 1 });
const agent = await startAgent(gateway.urls, wire, CAPACITY);
let ended = 0;
let delays: number[] = [];
const streams = await Promise.all(
  Array.from({ length: SESSIONS }, (_, n) =>
    openStream(gateway.url, wire, `session-${n}`, () => (ended += 1)),
  ),
);
const curve: Minute[] = [];
const running = new AbortController();
const probing = probe(running.signal);
try {
  await runFor(minutes, rate);
  await runFor(REST_MINUTES, 0);
  write();
} finally {
  running.abort();
  await probing;
  for (const stream of streams) stream.close();
  await agent.close();
  await gateway.stop();
  redis?.stop();
  await wire.destroy();
  rmSync(folder, { recursive: true, force: true });
}

/** Submits at a rate for this long, and notes each minute. */
async function runFor(lengthMinutes: number, tasksPerSecond: number): Promise<void> {
  const startMs = performance.now();
  const endMs = startMs + lengthMinutes * 60_000;
  let submitted = 0;
  let minute = { startMs, ended, cpuMs: readCpuMs(gateway.pid) };
  while (performance.now() < endMs) {
    const nowMs = performance.now();
    const due = Math.floor(((nowMs - startMs) / 1_000) * tasksPerSecond);
    for (; submitted < due; submitted += 1) void submit(submitted);
    if (nowMs - minute.startMs >= 60_000 || nowMs + 10 >= endMs) {
      note(minute.ended, minute.cpuMs);
      minute = { startMs: nowMs, ended, cpuMs: readCpuMs(gateway.pid) };
    }
    await sleep(10);
  }
}

async function submit(number: number): Promise<void> {
  await call(gateway.url, wire, '/api/cli/tasks', {
    auth: SECRET,
    task_type: 'translate',
    task_tags: ['bench'],
    payload: PAYLOAD,
    cli_session_id: `session-${number % SESSIONS}`,
    queue_timeout: 60,
    timeout: 600,
  });
}

/** Measures the event loop's delay again and again. */
async function probe(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const startMs = performance.now();
    const { body } = await request(`${gateway.url}/livez`, { dispatcher: wire });
    await body.dump();
    delays.push(performance.now() - startMs);
    await sleep(PROBE_EVERY_MS);
  }
}

function note(endedBefore: number, cpuBeforeMs: number): void {
  const sorted = delays.sort((a, b) => a - b);
  const tasks = ended - endedBefore;
  const now: Minute = {
    minute: curve.length + 1,
    tasks,
    rssMb: readRssMb(gateway.pid),
    descriptors: readdirSync(`/proc/${gateway.pid}/fd`).length,
    delayP50Ms: median(sorted),
    delayP99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    cpuMs: tasks > 0 ? (readCpuMs(gateway.pid) - cpuBeforeMs) / tasks : 0,
    storeMb: readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0) / 2 ** 20,
  };
  delays = [];
  curve.push(now);
  console.log(cellsOf(now).join('\t'));
}

function cellsOf({ minute, tasks, rssMb, descriptors, delayP50Ms, delayP99Ms, cpuMs, storeMb }: Minute) {
  const figures = [rssMb.toFixed(0), String(descriptors), delayP50Ms.toFixed(2), delayP99Ms.toFixed(1)];
  return [String(minute), String(tasks), ...figures, cpuMs.toFixed(3), storeMb.toFixed(0)];
}

function write(): void {
  const head = ['minute', 'tasks ended', 'resident memory, MB', 'descriptors', 'event loop, ms: p50', 'p99'];
  // Every fifth minute of a long run is enough to see the curve; the drawing has all.
  const every = curve.length > 20 ? 5 : 1;
  const rows = curve.filter(({ minute }) => minute === 1 || minute % every === 0 || minute === curve.length);
  const text = [
    `# Soak: ${rate} tasks a second for ${minutes} minutes on ${STORE}, then none`,
    `${describeMachine()}; client and agent run on the same cores.`,
    tabulate([...head, 'CPU a task, ms', 'database, MB'], rows.map(cellsOf)),
  ].join('\n\n');
  console.log(`\n${text}`);
  if (values.smoke) return;
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, `soak-${STORE}.md`), `${text}\n`);
  const points = curve.map(({ minute, rssMb }) => ({ x: minute, y: rssMb }));
  const title = `Resident memory in MB by minutes: ${rate} tasks a second on ${STORE}, then none`;
  writeFileSync(join(RESULTS, `soak-${STORE}.svg`), drawCurve(title, points));
}
