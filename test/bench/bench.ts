/**
 * `npm run bench`: what a task costs the gateway, beside the gateway a user would assemble (Fastify and
 * BullMQ) and beside a bare node:http sketch, in alternating rounds of one run; then what grows with stored
 * tasks, and matching. It prints Markdown and writes it, with drawings, to `test/bench/results/`.
 *
 * Machines are noisy: trust the ratios and the CPU per task. `--smoke` runs everything small and writes
 * nothing.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readScriptOptions } from '../harness/script-options.ts';
import { type AgentGrowth, type Growth, measureAgents, measureGrowth, type StoreLocation } from './growth.ts';
import { type Load, runRound } from './lifecycle.ts';
import { type Matching, measureMatching } from './matching.ts';
import {
  describeMachine,
  drawBars,
  type Measured,
  median,
  tabulateAgents,
  tabulateGrowth,
  tabulateLifecycle,
  tabulateMatching,
  tabulateStreams,
} from './report.ts';
import { type Server, startGateway, startPeer, startRedis, startServer } from './servers.ts';
import { measureStreams, type Streaming } from './streams.ts';

const PARTS = ['lifecycle', 'growth', 'matching', 'agents', 'streams'];
const values = readScriptOptions('npm run bench', {
  rounds: { type: 'string', value: 'NUMBER' },
  tasks: { type: 'string', value: 'NUMBER' },
  smoke: { type: 'boolean', default: false },
  only: { type: 'string', value: PARTS.join('|'), multiple: true, default: PARTS },
});
const smoke = values.smoke;
const rounds = Number(values.rounds ?? (smoke ? 1 : 5));
const full: Load = { tasks: Number(values.tasks ?? (smoke ? 200 : 4_000)), inFlight: 64 };
const modest: Load = { tasks: full.tasks / 4, inFlight: 4 };
const RESULTS = join(import.meta.dirname, 'results');
const SKETCH = 'bare node:http, in memory';
const PEER = 'Fastify + BullMQ, fsync always';

const folder = mkdtempSync(join(tmpdir(), 'task-gateway-bench-'));
const stops: (() => unknown)[] = [];
const report: string[] = [];
const drawings = new Map<string, string>();
try {
  print(`# Benchmark\n\n${describeMachine()}; the load runs on the same cores.`);
  if (values.only.includes('lifecycle')) await compareLifecycles();
  if (values.only.includes('growth')) await compareGrowth();
  if (values.only.includes('matching')) await compareMatching();
  if (values.only.includes('agents')) await compareAgents();
  if (values.only.includes('streams')) await compareStreams();
  if (!smoke) writeResults();
} finally {
  for (const stop of stops) await stop();
  rmSync(folder, { recursive: true, force: true });
}

function print(text: string): void {
  report.push(text);
  console.log(`${text}\n`);
}

async function compareLifecycles(): Promise<void> {
  const servers = await startServers();
  const measured = servers.map(({ name }): Measured => ({ name, full: [], modest: [] }));
  // The first round of each compiles what the others run.
  for (const { url, pids } of servers) await runRound(url, pids, 'warm-up', full);
  for (let n = 0; n < rounds; n += 1) {
    for (const [i, { url, pids }] of servers.entries()) {
      measured[i]?.full.push(await runRound(url, pids, `full-${n}`, full));
      measured[i]?.modest.push(await runRound(url, pids, `modest-${n}`, modest));
    }
  }
  for (const { stop } of servers) await stop();
  print(
    '## The whole life of a task\n\nHTTP submit → push to an agent → HTTP result → SSE event. ' +
      `${rounds} rounds of ${full.tasks} tasks, ${full.inFlight} in flight (modest: ${modest.inFlight}); CPU is of the ` +
      'server and its store, with all their threads. Both gateways wait for an fsync before they answer.',
  );
  print(tabulateLifecycle(measured, [PEER, SKETCH]));
  const bars = (value: (one: Measured) => number) =>
    measured.map((one) => ({ name: one.name, value: value(one) }));
  drawings.set(
    'cpu.svg',
    drawBars(
      'Server CPU a task, ms: shorter is better',
      bars((one) => median(one.full.map(({ cpuMs }) => cpuMs))),
    ),
  );
  drawings.set(
    'throughput.svg',
    drawBars(
      'Tasks a second: longer is better',
      bars((one) => median(one.full.map((r) => r.tasksPerSecond))),
    ),
  );
}

async function startServers(): Promise<readonly Server[]> {
  const servers: Server[] = [];
  const add = (server: Server): void => {
    servers.push(server);
    stops.push(server.stop);
  };
  add(await startGateway('gateway, sqlite', `sqlite:${folder}/gateway.db`));
  add(await startGateway('gateway, memory', 'memory:'));
  const [ours, theirs] = [await startRedis('always'), await startRedis('always')];
  if (ours && theirs) {
    stops.push(ours.stop, theirs.stop);
    add(await startGateway('gateway, Redis, fsync always', ours));
    add(await startPeer(PEER, theirs));
  } else {
    print(
      '**No redis-server was found: nothing is compared with Fastify + BullMQ. Install it and run again.**',
    );
  }
  add(await startServer(SKETCH, 'test/bench/sketch.ts', {}));
  return servers;
}

async function compareGrowth(): Promise<void> {
  const sizes = smoke ? [100, 1_000] : [1_000, 1_000_000];
  const open = smoke ? 10 : 10_000;
  print(
    '## What grows with what is stored\n\nA store with few ended tasks, one with many; both with open ones.',
  );
  for (const kind of ['sqlite', 'Redis'] as const) {
    const rows: Growth[] = [];
    for (const stored of sizes) {
      await withLocation(kind, `growth-${stored}`, async (location) => {
        rows.push(await measureGrowth(location, stored, open, smoke ? 80 : 2_000));
      });
    }
    if (rows.length > 0) print(`### ${kind}\n\n${tabulateGrowth(rows)}`);
  }
}

async function compareAgents(): Promise<void> {
  const rows: AgentGrowth[] = [];
  for (const kind of ['sqlite', 'Redis'] as const) {
    for (const agents of smoke ? [10, 100] : [100, 10_000]) {
      await withLocation(kind, `agents-${agents}`, async (location) => {
        rows.push(await measureAgents(location, agents, smoke ? 80 : 2_000));
      });
    }
  }
  print(
    '## What grows with the agents\n\nAgents that pull, with 20 of 200 tags each; each task has three tags and is ' +
      'assigned to one of a tenth of the agents or more.',
  );
  print(tabulateAgents(rows));
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

async function compareMatching(): Promise<void> {
  const [few, many] = smoke ? [100, 1_000] : [1_000, 10_000];
  const rows: Matching[] = [];
  for (const [agents, sets] of [
    [few, 20],
    [few, 200],
    [many, 20],
    [many, 200],
  ] as const)
    rows.push(await measureMatching(agents, sets));
  print(
    '## Matching\n\nAgents with 20 of 200 tags each; tasks with three. It follows the tag sets, not the agents.',
  );
  print(tabulateMatching(rows));
}

function writeResults(): void {
  mkdirSync(RESULTS, { recursive: true });
  const plots = [...drawings.keys()].map((name) => `![](${name})`);
  writeFileSync(join(RESULTS, 'README.md'), `${[...report, ...plots].join('\n\n')}\n`);
  for (const [name, svg] of drawings) writeFileSync(join(RESULTS, name), svg);
}
