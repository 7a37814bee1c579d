/**
 * Where a task's CPU goes: the gateway on sqlite under V8's sampling profiler, warm, and its samples by
 * stage. Shares are of the time in which a thread was not idle.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tabulate } from './report.ts';
import { startGateway } from './servers.ts';
import { runLoad } from './workload.ts';

/** A profile as V8 writes it; times in µs of the monotonic clock. */
type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

type Span = { readonly fromUs: number; readonly toUs: number };

const IDLE = 'idle';
/** The stage of a function, by where its source is: the first that fits. */
const STAGES: readonly (readonly [pattern: RegExp, stage: string])[] = [
  [/\/server\/engines\/sqlite\//, 'SQLite: rows and the writer thread’s messages'],
  [/\/server\/engines\/|\/keyv\//, 'engine: decide and apply'],
  [/\/server\/push\/|\/undici\//, 'push'],
  [/\/server\/http\/stream\//, 'event streams'],
  [
    /\/server\/http\/|\/koa[^/]*\/|\/@koa\/|\/openapi-backend\/|\/ajv\//,
    'HTTP: routes, bodies, validation, responses',
  ],
  [/\/server\/(gateway|domain|async)\//, 'gateway and domain'],
];
/** Functions that V8 names itself. */
const OWN_NAMES: ReadonlyMap<string, string> = new Map([
  ['(idle)', IDLE],
  ['(garbage collector)', 'garbage collector'],
  ['(program)', 'kernel and native code'],
]);
const OTHER = 'Node: sockets, HTTP parser, timers';

/** Profiles a gateway of its own for this many tasks, 64 in flight; resolves with the table. */
export async function profileStages(folder: string, tasks: number, warmUpTasks: number): Promise<string> {
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=250'];
  const server = await startGateway('profiled', `sqlite:${join(folder, 'profiled.db')}`, undefined, flags);
  const { urls } = server;
  const load = { name: 'profile', tasks, pace: { inFlight: 64 } };
  const ignore = { onStart: () => undefined, onEnd: () => undefined };
  await runLoad({ urls, session: 'warm-up', load: { ...load, tasks: warmUpTasks } }, ignore);
  const span = { fromUs: 0, toUs: 0 };
  await runLoad(
    { urls, session: 'profile', load },
    {
      onStart: () => {
        span.fromUs = readMonotonicUs();
      },
      onEnd: () => {
        span.toUs = readMonotonicUs();
      },
    },
  );
  await server.stop();
  const micros = new Map<string, number>();
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))) {
    addStages(JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile, span, micros);
  }
  return tabulateStages(micros, tasks);
}

function tabulateStages(micros: ReadonlyMap<string, number>, tasks: number): string {
  const busy = [...micros].filter(([stage]) => stage !== IDLE).sort((a, b) => b[1] - a[1]);
  const allUs = busy.reduce((sum, [, us]) => sum + us, 0);
  const rows = busy.map(([stage, us]) => [
    stage,
    (us / tasks).toFixed(0),
    `${((us / allUs) * 100).toFixed(0)} %`,
  ]);
  return tabulate(['stage', 'µs a task', 'share'], rows);
}

/** Adds the time of each sample within the span to the stage of its function. */
function addStages(profile: CpuProfile, { fromUs, toUs }: Span, micros: Map<string, number>): void {
  const stages = nameStages(profile);
  let atUs = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    const tookUs = profile.timeDeltas[index] ?? 0;
    atUs += tookUs;
    if (atUs < fromUs || atUs > toUs) continue;
    const stage = stages.get(id) ?? OTHER;
    micros.set(stage, (micros.get(stage) ?? 0) + tookUs);
  }
}

/** The stage of each node; a function without a source of ours belongs to what called it. */
function nameStages({ nodes }: CpuProfile): ReadonlyMap<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const stages = new Map<number, string>();
  const pending = nodes.slice(0, 1).map(({ id }) => ({ id, caller: OTHER }));
  for (let next = pending.pop(); next; next = pending.pop()) {
    const node = byId.get(next.id);
    if (!node) continue;
    const { functionName, url } = node.callFrame;
    const own = OWN_NAMES.get(functionName) ?? STAGES.find(([pattern]) => pattern.test(url))?.[1];
    const stage = own ?? next.caller;
    stages.set(node.id, stage);
    for (const id of node.children ?? []) pending.push({ id, caller: stage });
  }
  return stages;
}

function readMonotonicUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
