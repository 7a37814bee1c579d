/**
 * `npm run bench`: what a task costs the gateway, beside the gateway a user would assemble (Fastify and
 * BullMQ) and beside a bare node:http sketch, in alternating rounds of one run; then what grows with stored
 * tasks. It prints Markdown and writes it, with drawings, to `test/bench/results/`.
 *
 * `-- --compare REVISION` measures this checkout beside another revision instead and writes nothing.
 *
 * Machines are noisy: trust the ratios and the CPU per task. `--smoke` runs everything small and writes
 * nothing.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readScriptOptions } from '../harness/script-options.ts';
import { LOADS, NAMES, tabulateGoals, tabulateOutputGoals } from './goals.ts';
import { type Growth, measureGrowth, type StoreLocation } from './growth.ts';
import { type Measured, measureServers } from './lifecycle.ts';
import { startCompared, startRevisions } from './line-up.ts';
import { measureOutput, measureOutputMemory, type OutputMemory, tabulateOutput } from './output.ts';
import {
  describeMachine,
  drawBars,
  median,
  tabulateGrowth,
  tabulateLoad,
  tabulateStreams,
} from './report.ts';
import { checkOut, describeCommit } from './revision.ts';
import { type Server, startGateway, startRedis } from './servers.ts';
import { measureStreams, type Streaming } from './streams.ts';
import type { Load } from './workload.ts';

const PARTS = ['lifecycle', 'output', 'growth', 'streams'];
const values = readScriptOptions('npm run bench', {
  rounds: { type: 'string', value: 'NUMBER' },
  tasks: { type: 'string', value: 'NUMBER' },
  /** A revision of git to compare with. */
  compare: { type: 'string', value: 'REVISION' },
  smoke: { type: 'boolean', default: false },
  only: { type: 'string', value: PARTS.join('|'), multiple: true, default: PARTS },
});
const smoke = values.smoke;
const rounds = Number(values.rounds ?? (smoke ? 1 : 5));
const tasks = Number(values.tasks ?? (smoke ? 200 : 4_000));
const allLoads: readonly Load[] = [
  { name: LOADS.full, tasks, pace: { inFlight: 64 } },
  { name: LOADS.open, tasks: Math.ceil(tasks * 0.3), pace: { perSecond: 100 } },
  { name: LOADS.few, tasks: tasks / 4, pace: { inFlight: 4 } },
  { name: LOADS.large, tasks: tasks / 8, pace: { inFlight: 16 }, payloadBytes: 100_000 },
];
// One of each pace is enough to see that it still runs.
const loads = smoke ? allLoads.slice(0, 2) : allLoads;
const GROWTH =
  'A store with few tasks, one with many that have ended, one with almost as many that wait as it may have; ms of CPU a ' +
  'call. The goal: no call costs 1.5 times as much as on the first.';
const RESULTS = join(import.meta.dirname, 'results');
const kinds: readonly ('sqlite' | 'Redis')[] = smoke ? ['sqlite'] : ['sqlite', 'Redis'];

const folder = mkdtempSync(join(tmpdir(), 'task-gateway-bench-'));
const stops: (() => unknown)[] = [];
const lineUp = { folder, smoke, stops };
const report: string[] = [];
const drawings = new Map<string, string>();
try {
  print(`# Benchmark\n\n${describeCommit()}, ${describeMachine()}; the load runs on the same cores.`);
  if (values.compare !== undefined) await compareRevisions(values.compare);
  else await measureAll();
} finally {
  for (const stop of stops) await stop();
  rmSync(folder, { recursive: true, force: true });
}

function print(text: string): void {
  report.push(text);
  console.log(`${text}\n`);
}

async function measureAll(): Promise<void> {
  if (values.only.includes('lifecycle')) await compareLifecycles();
  if (values.only.includes('output')) await compareOutput(await startCompared(lineUp, false));
  if (values.only.includes('growth')) await compareGrowth();
  if (values.only.includes('streams')) await compareStreams();
  if (!smoke && PARTS.every((part) => values.only.includes(part))) writeResults();
}

async function compareLifecycles(): Promise<void> {
  const startMs = await measureStart();
  const measured = await measureAndPrint(await startCompared(lineUp), [NAMES.peer]);
  print(`### Goals\n\nThe peer is Fastify + BullMQ.\n\n${tabulateGoals(measured, startMs)}`);
  const bars = (read: (round: { cpuMs: number; tasksPerSecond: number }) => number) =>
    measured.map(({ name, rounds: all }) => ({ name, value: median((all.get(LOADS.full) ?? []).map(read)) }));
  drawings.set(
    'cpu.svg',
    drawBars(
      'Server CPU a task, ms: shorter is better',
      bars(({ cpuMs }) => cpuMs),
    ),
  );
  drawings.set(
    'throughput.svg',
    drawBars(
      'Tasks a second: longer is better',
      bars(({ tasksPerSecond }) => tasksPerSecond),
    ),
  );
}

/** The shortest of some starts, each on a new file. The first one of a checkout fills the compile cache. */
async function measureStart(): Promise<number> {
  const startsMs: number[] = [];
  while (startsMs.length < (smoke ? 2 : 8)) {
    const server = await startGateway('start', `sqlite:${folder}/start-${startsMs.length}.db`);
    startsMs.push(server.startMs);
    await server.stop();
  }
  return Math.min(...startsMs);
}

/** This checkout beside another revision, on sqlite and on Redis. */
async function compareRevisions(revision: string): Promise<void> {
  const root = join(folder, 'revision');
  checkOut(revision, root);
  const baselines = [`sqlite, ${revision}`, `Redis, ${revision}`];
  if (values.only.includes('lifecycle'))
    await measureAndPrint(await startRevisions(lineUp, revision, root), baselines);
  if (values.only.includes('output')) await compareOutput(await startRevisions(lineUp, revision, root));
}

async function measureAndPrint(
  servers: readonly Server[],
  baselines: readonly string[],
): Promise<readonly Measured[]> {
  const measured = await measureServers(servers, loads, rounds, smoke ? 0.01 : 1);
  for (const { stop } of servers) await stop();
  print(
    '## The whole life of a task\n\nHTTP submit → push to an agent → HTTP result → SSE event, after 20,000 tasks of ' +
      `warm-up; ${rounds} rounds, every other one in reverse order. CPU is of the server and its store, with all their ` +
      'threads; client and agent are a process of their own. Everything but memory and bare waits for an fsync before it ' +
      'responds. CPU, p50 and p99 are least/median of the rounds; ÷ is the median of their own ratios of CPU.\n\n' +
      '`memory:` commits in the main thread at once. On a file the next group grows while the disk writes, so with 64 in ' +
      'flight it has fewer and larger ones, and with few it pays for waking a thread. Three replicas share the flight: ' +
      'each sends smaller groups to the same Redis, and hears of those of the others.',
  );
  for (const { name, tasks: count } of loads) {
    print(`### ${name}, ${count} tasks a round\n\n${tabulateLoad(measured, name, baselines)}`);
  }
  return measured;
}

/** Agents that write, each with a reader; the servers are stopped then. */
async function compareOutput(servers: readonly Server[]): Promise<void> {
  const load = smoke
    ? { tasks: 5, seconds: 0.5, rounds, warmUpWrites: 20 }
    : { tasks: tasks / 8, seconds: 4, rounds, warmUpWrites: 20_000 };
  const measured = await measureOutput(servers, load, [NAMES.memory, NAMES.replicas, NAMES.bare]);
  for (const { stop } of servers) await stop();
  print(
    `## The output of tasks\n\n${load.tasks} tasks, each with a writer of ten pieces a second and a reader that ` +
      'follows; CPU is of the server and its store for a write and its read. Plain tasks: 50 a second.\n\n' +
      tabulateOutput(measured, NAMES.bare),
  );
  const memories: OutputMemory[] = [];
  for (const kind of values.compare === undefined ? kinds : []) {
    await withLocation(kind, 'output', async (location) => {
      memories.push(await measureOutputMemory(kind, location, smoke ? 20 : 2_000));
    });
  }
  print(`### Goals of output\n\n${tabulateOutputGoals(measured, memories)}`);
}

async function compareGrowth(): Promise<void> {
  const [few, many, open] = smoke ? [100, 1_000, 200] : [1_000, 1_000_000, 10_000];
  const stores = new Map<string, readonly Growth[]>();
  for (const kind of kinds) {
    const rows: Growth[] = [];
    const openMax = kind === 'sqlite' ? many : many / 10;
    const sizes = [[few, open] as const, [many, open] as const, [few, openMax - open] as const];
    for (const [stored, waiting] of sizes) {
      await withLocation(kind, `growth-${stored}-${waiting}`, async (location) => {
        rows.push(await measureGrowth(location, stored, waiting, smoke ? 80 : 2_000));
      });
    }
    stores.set(kind, rows);
  }
  print(`## What grows with what is stored\n\n${GROWTH}\n\n${tabulateGrowth(stores)}`);
}

/** Works on a new file, or on an empty Redis of its own; without Redis it does nothing. */
async function withLocation(
  kind: 'sqlite' | 'Redis',
  name: string,
  work: (location: StoreLocation) => Promise<void>,
): Promise<void> {
  if (kind === 'sqlite') return await work({ path: join(folder, `${name}.db`) });
  const redis = await startRedis('everysec');
  if (!redis) return;
  try {
    await work({ redis });
  } finally {
    redis.stop();
  }
}

async function compareStreams(): Promise<void> {
  const rows: Streaming[] = [];
  for (const [streams, sessions] of smoke
    ? ([[100, 1]] as const)
    : ([
        [10_000, 1],
        [10_000, 100],
      ] as const)) {
    rows.push(await measureStreams(streams, sessions));
  }
  print('## Streams\n\nOne event to each session, ten times; the readers are a process of their own.');
  print(tabulateStreams(rows));
}

function writeResults(): void {
  mkdirSync(RESULTS, { recursive: true });
  const plots = [...drawings.keys()].map((name) => `![](${name})`);
  writeFileSync(join(RESULTS, 'README.md'), `${[...report, ...plots].join('\n\n')}\n`);
  for (const [name, svg] of drawings) writeFileSync(join(RESULTS, name), svg);
}
