/**
 * The figures that the gateway is held to, beside what was measured. They are ratios within one run, because
 * the same code takes twice as long on another machine.
 */
import type { Measured, Round } from './lifecycle.ts';
import { divideOutput, type MeasuredOutput, type OutputMemory } from './output.ts';
import { divideRounds, percentileOf, tabulate } from './report.ts';

/** The names of the servers and loads that the goals compare. */
export const NAMES = {
  sqlite: 'gateway, sqlite',
  memory: 'gateway, memory',
  redis: 'gateway, Redis, fsync always',
  replicas: 'gateway, 3 replicas on one Redis',
  peer: 'Fastify + BullMQ, fsync always',
  bare: 'bare node:http, in memory',
} as const;
export const LOADS = {
  full: '64 in flight',
  few: '4 in flight',
  open: '100 a second',
  large: '100 kB',
} as const;

type Goal = { readonly figure: string; readonly goal: string; readonly value: number };

/** The table of goals; a figure whose servers were not measured is left out. `startMs`: until it listens. */
export function tabulateGoals(measured: readonly Measured[], startMs: number): string {
  return tabulateAll(listGoals(measured, startMs));
}

function tabulateAll(goals: readonly Goal[]): string {
  const known = goals.filter(({ value }) => !Number.isNaN(value));
  return tabulate(
    ['figure', 'goal', 'measured'],
    known.map(({ figure, goal, value }) => [figure, goal, value.toFixed(2)]),
  );
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
    { figure: `sqlite, CPU ÷ peer, ${full}`, goal: '≤ 0.45', value: divide(sqlite, peer, full, cpu) },
    { figure: `sqlite, CPU ÷ peer, ${few}`, goal: '≤ 0.45', value: divide(sqlite, peer, few, cpu) },
    {
      figure: `Redis, CPU ÷ peer, ${full}`,
      goal: '≤ 0.65, stretch 0.55',
      value: divide(redis, peer, full, cpu),
    },
    {
      figure: `sqlite, CPU ÷ bare, ${full}`,
      goal: '≤ 3.0, stretch 2.2',
      value: divide(sqlite, bare, full, cpu),
    },
    { figure: `sqlite, tasks/s ÷ peer, ${full}`, goal: '≥ 2', value: divide(sqlite, peer, full, rate) },
    { figure: `Redis, tasks/s ÷ peer, ${full}`, goal: '≥ 1.5', value: divide(redis, peer, full, rate) },
    { figure: `sqlite, p50 ÷ peer, ${open}`, goal: '≤ 0.7', value: divide(sqlite, peer, open, at(0.5)) },
    { figure: `sqlite, p99 ÷ peer, ${open}`, goal: '≤ 0.7', value: divide(sqlite, peer, open, at(0.99)) },
    { figure: `Redis, p50 ÷ peer, ${open}`, goal: '≤ 0.7', value: divide(redis, peer, open, at(0.5)) },
    { figure: `Redis, p99 ÷ peer, ${open}`, goal: '≤ 0.7', value: divide(redis, peer, open, at(0.99)) },
    { figure: `3 replicas ÷ 1, CPU, ${full}`, goal: '≤ 1.15', value: divide(replicas, redis, full, cpu) },
    { figure: `sqlite, CPU ÷ peer, ${large}`, goal: '≤ 0.6', value: divide(sqlite, peer, large, cpu) },
    { figure: 'start on sqlite, s', goal: '≤ 0.3', value: startMs / 1_000 },
    { figure: 'resident memory idle, MB', goal: '≤ 130', value: started?.idleMb ?? Number.NaN },
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
  const ofStore = (store: string, name: string, goal: string): readonly Goal[] => [
    { figure: `${store}, CPU of a write and its read ÷ bare`, goal, value: divide(name, NAMES.bare) },
    {
      figure: `${store}, p99 call to read ÷ a commit then`,
      goal: '≤ 2',
      value: divideOutput(
        measured,
        name,
        name,
        ({ plain }) => p99(plain?.beside.readMs),
        ({ plain }) => p99(plain?.beside.commitMs),
      ),
    },
    {
      figure: `${store}, p99 of plain tasks beside writes ÷ alone`,
      goal: '≤ 2',
      value: divideOutput(
        measured,
        name,
        name,
        ({ plain }) => p99(plain?.beside.plainMs),
        ({ plain }) => p99(plain?.alone.plainMs),
      ),
    },
  ];
  const goals = [
    ...ofStore('sqlite', NAMES.sqlite, '≤ 2.5, stretch 2.0'),
    ...ofStore('Redis', NAMES.redis, '≤ 3.5'),
    { figure: '3 replicas ÷ 1, CPU of a write', goal: '≤ 1.2', value: divide(NAMES.replicas, NAMES.redis) },
    ...memories.flatMap(({ name, readerKib, taskBytes }) => [
      { figure: `${name}, KiB a reader`, goal: '≤ 20', value: readerKib },
      { figure: `${name}, KiB a task that is written to`, goal: '≤ 0.5', value: taskBytes / 1_024 },
    ]),
  ];
  return tabulateAll(goals);
}
