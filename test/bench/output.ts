/**
 * The output of tasks: agents that write, each with a reader that follows, on every server by turns. The load
 * is a process of its own (`output-process.ts`); what is measured is the servers' processes and their store.
 *
 *   plain tasks alone ──► writes alone, whose CPU is measured ──► both at once
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { startGateway } from '../harness/gateway-process.ts';
import { INSPECTED, measureHeapOf } from '../harness/heap.ts';
import type { StoreLocation } from './growth.ts';
import { SECRET } from './parties.ts';
import { readCpuMs, sumOver } from './process-figures.ts';
import { median, percentileOf, tabulate } from './report.ts';
import type { Server } from './servers.ts';
import { receive } from './workload.ts';

/** The commands to the process of the load. */
export type OutputCommand =
  /** Tasks that an agent has then. */
  | { readonly op: 'submit'; readonly tasks: number }
  /** A piece to each. */
  | { readonly op: 'write' }
  /** A reader of each. */
  | { readonly op: 'follow' }
  /** A reader of the events of plain tasks. */
  | { readonly op: 'plain' }
  | {
      readonly op: 'run';
      readonly seconds: number;
      readonly writesPerSecond: number;
      readonly plainPerSecond: number;
    }
  /** The tasks end. */
  | { readonly op: 'settle' };

/** What it measured, in ms, of each write and each plain task. */
type Ran = {
  /** From an agent's call to its client's read. */
  readonly readMs: readonly number[];
  /** From a plain task's submission to its event. */
  readonly plainMs: readonly number[];
  /** What the submission alone took: a durable commit. */
  readonly commitMs: readonly number[];
};

/** What the process replies. */
export type OutputReply = { readonly ok: true } & Partial<Ran>;

/** Of one server in one round. */
type Round = {
  /** CPU of the server and its store for a write and its read. */
  readonly cpuUs: number;
  readonly writes: Ran;
  /** Plain tasks alone and beside the writes; undefined for a server that has writes alone. */
  readonly plain?: { readonly alone: Ran; readonly beside: Ran };
};

/** A server and its rounds; those at one index ran next to each other. */
export type MeasuredOutput = { readonly name: string; readonly rounds: readonly Round[] };

export type OutputLoad = {
  /** Each has a reader, and gets ten writes a second: a model's hundred tokens, joined. */
  readonly tasks: number;
  /** Of each of the three parts. */
  readonly seconds: number;
  readonly rounds: number;
  /** To each process first: V8 compiles what runs again and again; before, a write costs twice as much. */
  readonly warmUpWrites: number;
};

const WRITES_PER_SECOND = 10;
const PLAIN_PER_SECOND = 50;

/** Those of `writesAlone` have no plain tasks: the sketch takes none beside, and others need not. */
export async function measureOutput(
  servers: readonly Server[],
  load: OutputLoad,
  writesAlone: readonly string[],
): Promise<readonly MeasuredOutput[]> {
  const parties = [];
  for (const server of servers) {
    const hasPlain = !writesAlone.includes(server.name);
    parties.push({
      server,
      hasPlain,
      process: await startLoad(server, load, hasPlain),
      rounds: [] as Round[],
    });
  }
  for (let n = 0; n < load.rounds; n += 1) {
    for (const { server, hasPlain, process, rounds } of n % 2 === 0 ? parties : parties.toReversed())
      rounds.push(await runRound(server, process, load, hasPlain));
  }
  for (const { process } of parties) await process.end();
  return parties.map(({ server: { name }, rounds }) => ({ name, rounds }));
}

/** Starts the process of the load, with tasks and readers, and warms the server up. */
async function startLoad({ urls }: Server, { tasks, seconds, warmUpWrites }: OutputLoad, hasPlain: boolean) {
  const load = await startProcess(urls);
  await load.obey({ op: 'submit', tasks });
  await load.obey({ op: 'write' });
  await load.obey({ op: 'follow' });
  if (hasPlain) await load.obey({ op: 'plain' });
  const plainPerSecond = hasPlain ? PLAIN_PER_SECOND : 0;
  const warmUp = { op: 'run', seconds, writesPerSecond: tasks * WRITES_PER_SECOND, plainPerSecond } as const;
  for (let written = 0; written < warmUpWrites * urls.length; )
    written += (await load.obey(warmUp)).readMs.length;
  return load;
}

async function startProcess(urls: readonly string[]) {
  const child = fork(join(import.meta.dirname, 'output-process.ts'), { stdio: 'inherit' });
  child.send(urls);
  await receive(child);
  const obey = async (command: OutputCommand): Promise<Ran> => {
    child.send(command);
    const { readMs = [], plainMs = [], commitMs = [] } = await receive<OutputReply>(child);
    return { readMs, plainMs, commitMs };
  };
  return {
    obey,
    async end() {
      await obey({ op: 'settle' });
      child.kill('SIGKILL');
    },
  };
}

async function runRound(
  { pids }: Server,
  { obey }: Awaited<ReturnType<typeof startProcess>>,
  { tasks, seconds }: OutputLoad,
  hasPlain: boolean,
): Promise<Round> {
  const run = (writesPerSecond: number, plainPerSecond: number): Promise<Ran> =>
    obey({ op: 'run', seconds, writesPerSecond, plainPerSecond });
  const alone = hasPlain ? await run(0, PLAIN_PER_SECOND) : undefined;
  const beforeMs = sumOver(pids, readCpuMs);
  const writes = await run(tasks * WRITES_PER_SECOND, 0);
  const cpuUs = ((sumOver(pids, readCpuMs) - beforeMs) * 1_000) / writes.readMs.length;
  if (!alone) return { cpuUs, writes };
  return { cpuUs, writes, plain: { alone, beside: await run(tasks * WRITES_PER_SECOND, PLAIN_PER_SECOND) } };
}

/** What the process of a gateway keeps, once everything is collected that can be. */
export type OutputMemory = { readonly name: string; readonly readerKib: number; readonly taskBytes: number };

/** What each of many readers, and each of as many tasks that are written to, takes of a gateway. */
export async function measureOutputMemory(
  name: string,
  location: StoreLocation,
  tasks: number,
): Promise<OutputMemory> {
  const env =
    'path' in location
      ? { STORE: `sqlite:${location.path}` }
      : { STORE: location.redis.url, REDIS_DURABILITY: location.redis.durability };
  const gateway = await startGateway({ ...INSPECTED, ...env, GATEWAY_AUTH: SECRET });
  const load = await startProcess([gateway.baseUrl]);
  try {
    await load.obey({ op: 'submit', tasks });
    const openBytes = await measureHeapOf(gateway);
    await load.obey({ op: 'write' });
    const writtenBytes = await measureHeapOf(gateway);
    await load.obey({ op: 'follow' });
    const followedBytes = await measureHeapOf(gateway);
    await load.end();
    return {
      name,
      readerKib: (followedBytes - writtenBytes) / tasks / 1_024,
      taskBytes: (writtenBytes - openBytes) / tasks,
    };
  } finally {
    await gateway.stop();
  }
}

/** The table of the servers, medians of the rounds; CPU is divided by that of `bare` in the same round. */
export function tabulateOutput(measured: readonly MeasuredOutput[], bare: string): string {
  const rows = measured.map(({ name, rounds }) => {
    const cpuUs = rounds.map((round) => round.cpuUs);
    const ofRounds = (read: (round: Round) => readonly number[] | undefined, share = 0.99): string => {
      const value = median(rounds.map((round) => percentileOf(read(round) ?? [], share)));
      return Number.isNaN(value) ? '–' : value.toFixed(1);
    };
    return [
      name,
      Math.min(...cpuUs).toFixed(0),
      median(cpuUs).toFixed(0),
      divideOutput(measured, name, bare, (round) => round.cpuUs).toFixed(2),
      ofRounds(({ writes }) => writes.readMs, 0.5),
      ofRounds(({ writes }) => writes.readMs),
      ofRounds(({ plain }) => plain?.beside.readMs),
      ofRounds(({ plain }) => plain?.beside.commitMs),
      ofRounds(({ plain }) => plain?.alone.plainMs),
      ofRounds(({ plain }) => plain?.beside.plainMs),
    ];
  });
  const reads = ['call to read, ms: p50', 'p99', 'p99 beside plain tasks', 'p99 of a commit then'];
  const plain = ['plain tasks, p99 ms: alone', 'beside writes'];
  return tabulate(['server', 'CPU µs: min', 'median', '÷ bare', ...reads, ...plain], rows);
}

/** The median of the rounds' own ratios of a figure of two servers, or of two figures of one. */
export function divideOutput(
  measured: readonly MeasuredOutput[],
  name: string,
  other: string,
  read: (round: Round) => number,
  readOther = read,
): number {
  const roundsOf = (of: string): readonly Round[] => measured.find((one) => one.name === of)?.rounds ?? [];
  return median(
    roundsOf(name).map((round, n) => {
      const compared = roundsOf(other)[n];
      return compared ? read(round) / readOther(compared) : Number.NaN;
    }),
  );
}
