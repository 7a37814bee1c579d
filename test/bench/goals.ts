/**
 * The figures that the gateway is held to, beside what was measured. They are ratios within one run, because
 * the same code takes twice as long on another machine.
 */
import type { Measured, Round } from './lifecycle.ts';
import { divideOutput, type MeasuredOutput, type OutputMemory } from './output.ts';
import { divideRounds, percentileOf, tabulate } from './report.ts';

/** The names of the servers and loads that the goals compare. */
export const NAMES = {
  sqlite: 'sqlite',
  memory: 'memory',
  redis: 'Redis',
  replicas: '3 replicas',
  peer: 'Fastify + BullMQ',
  bare: 'bare node:http',
} as const;
export const LOADS = {
  full: '64 in flight',
  few: '4 in flight',
  open: '100 a second',
  large: '100 kB',
} as const;

/** Why a goal is missed, and what follows. */
const MISSED = {
  koa: 'HTTP as an ordinary Koa application costs a sixth of a task; it stays, for it spares 1,700 lines',
  bare: 'the sketch checks and stores nothing, and what is left is spread over many functions; nothing is planned',
  open: 'half of it is the load and two fsyncs, which no gateway spares; nothing follows',
  replicas: 'a replica with a third of the flight alone costs 1.24; replicas are for failover, not for CPU',
  idle: 'most of it is Node and the compiled document; so little more changes no sizing',
} as const;

/** `missed`: why it is missed where it is, and what follows. */
type Goal = readonly [figure: string, sign: '≤' | '≥', bound: number, value: number, missed?: string];

/**
 * The table of goals; a figure whose servers were not measured is left out. `startMs`: the least of some
 * starts, until it listens.
 */
export function tabulateGoals(measured: readonly Measured[], startMs: number): string {
  return tabulateAll(listGoals(measured, startMs));
}

/** Compares what is printed: a value that rounds to its bound meets it. */
function tabulateAll(goals: readonly Goal[]): string {
  const rows = goals.flatMap(([figure, sign, bound, value, missed]) => {
    if (Number.isNaN(value)) return [];
    const shown = value.toFixed(2);
    const isMet = sign === '≤' ? Number(shown) <= bound : Number(shown) >= bound;
    return [[figure, `${sign} ${bound}`, shown, isMet ? 'yes' : `no${missed ? `: ${missed}` : ''}`]];
  });
  return tabulate(['figure', 'goal', 'measured', 'met?'], rows);
}

function listGoals(measured: readonly Measured[], startMs: number): readonly Goal[] {
  const roundsOf = (name: string, load: string): readonly Round[] =>
    measured.find((one) => one.name === name)?.rounds.get(load) ?? [];
  const cpu = ({ cpuMs }: Round): number => cpuMs;
  const rate = ({ tasksPerSecond }: Round): number => tasksPerSecond;
  const at = (share: number) => (round: Round) => percentileOf(round.tookMs, share);
  const divide = (name: string, other: string, load: string, read: (round: Round) => number): number =>
    divideRounds(roundsOf(name, load), roundsOf(other, load), read);
  const { sqlite, redis, replicas, peer, bare } = NAMES;
  const { full, few, open, large } = LOADS;
  const started = measured.find(({ name }) => name === sqlite);
  return [
    [`sqlite, CPU ÷ peer, ${full}`, '≤', 0.65, divide(sqlite, peer, full, cpu), MISSED.koa],
    [`sqlite, CPU ÷ peer, ${few}`, '≤', 0.85, divide(sqlite, peer, few, cpu), MISSED.koa],
    [`Redis, CPU ÷ peer, ${full}`, '≤', 0.85, divide(redis, peer, full, cpu), MISSED.koa],
    [`Redis, CPU ÷ peer, ${few}`, '≤', 1, divide(redis, peer, few, cpu), MISSED.koa],
    [`sqlite, CPU ÷ bare, ${full}`, '≤', 4, divide(sqlite, bare, full, cpu), MISSED.bare],
    [`sqlite, tasks/s ÷ peer, ${full}`, '≥', 1.8, divide(sqlite, peer, full, rate)],
    [`Redis, tasks/s ÷ peer, ${full}`, '≥', 1.5, divide(redis, peer, full, rate)],
    [`sqlite, p50 ÷ peer, ${open}`, '≤', 0.85, divide(sqlite, peer, open, at(0.5)), MISSED.open],
    [`sqlite, p99 ÷ peer, ${open}`, '≤', 0.95, divide(sqlite, peer, open, at(0.99))],
    [`Redis, p50 ÷ peer, ${open}`, '≤', 0.95, divide(redis, peer, open, at(0.5))],
    [`Redis, p99 ÷ peer, ${open}`, '≤', 0.95, divide(redis, peer, open, at(0.99))],
    [`3 replicas ÷ 1, CPU, ${full}`, '≤', 1.5, divide(replicas, redis, full, cpu), MISSED.replicas],
    [`sqlite, CPU ÷ peer, ${large}`, '≤', 0.9, divide(sqlite, peer, large, cpu)],
    [`Redis, CPU ÷ peer, ${large}`, '≤', 1.2, divide(redis, peer, large, cpu)],
    ['start on sqlite, the least, s', '≤', 0.35, startMs / 1_000],
    ['memory idle, MB', '≤', 120, started?.idleMb ?? Number.NaN, MISSED.idle],
  ];
}

/** The table of the goals of output. */
export function tabulateOutputGoals(
  measured: readonly MeasuredOutput[],
  memories: readonly OutputMemory[],
): string {
  const p99 = (numbers: readonly number[] = []): number => percentileOf(numbers, 0.99);
  const divide = (name: string, other: string): number =>
    divideOutput(measured, name, other, ({ cpuUs }) => cpuUs);
  const ofStore = (store: string, name: string, bound: number): readonly Goal[] => [
    [`${store}, CPU of a write and its read ÷ bare`, '≤', bound, divide(name, NAMES.bare)],
    [
      `${store}, p99 call to read ÷ a commit then`,
      '≤',
      2,
      divideOutput(
        measured,
        name,
        name,
        ({ plain }) => p99(plain?.beside.readMs),
        ({ plain }) => p99(plain?.beside.commitMs),
      ),
    ],
  ];
  const ofMemory = ({ name, readerKib, taskBytes }: OutputMemory): readonly Goal[] => [
    [`${name}, KiB a reader`, '≤', 20, readerKib],
    [`${name}, KiB a task that is written to`, '≤', 0.5, taskBytes / 1_024],
  ];
  return tabulateAll([
    ...ofStore('sqlite', NAMES.sqlite, 2.8),
    ...ofStore('Redis', NAMES.redis, 3.8),
    ...memories.flatMap(ofMemory),
  ]);
}
