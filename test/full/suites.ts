/** What `npm run test:full` goes through, round after round, and how much of each a round tries. */
export type Suite = {
  readonly name: string;
  /** What vitest is told to run. */
  readonly files: readonly string[];
  /** What one round tries, in words, and how much: `each` is handed over in the variable, `times` it is tried. */
  readonly unit: string;
  readonly variable: string;
  readonly each: number;
  readonly times: number;
};

export const SUITES: readonly Suite[] = [
  {
    name: 'model',
    files: ['test/model'],
    unit: 'lives',
    variable: 'MODEL_RUNS',
    each: 5_000,
    times: 2,
  },
  {
    name: 'races',
    files: ['test/races/races.test.ts'],
    unit: 'orders',
    variable: 'RACE_RUNS',
    each: 5_000,
    times: 18,
  },
  {
    name: 'planted designs',
    files: ['test/races/mutants.test.ts', 'test/races/replay.test.ts', 'test/unit/reach.test.ts'],
    unit: 'rounds',
    variable: 'PLANTED_ROUNDS',
    each: 1,
    times: 1,
  },
  {
    name: 'kill',
    files: ['test/faults/kill.test.ts'],
    unit: 'kills',
    variable: 'KILL_CYCLES',
    each: 50,
    times: 1,
  },
  {
    name: 'power cut',
    files: ['test/faults/power-cut.test.ts'],
    unit: 'cuts',
    variable: 'CUT_POINTS',
    each: 8_000,
    times: 1,
  },
  {
    name: 'fuzz',
    files: ['test/http/fuzz.test.ts'],
    unit: 'inputs a property',
    variable: 'FUZZ_RUNS',
    each: 5_000,
    times: 1,
  },
  {
    name: 'replicas',
    files: ['test/replicas/replicas.test.ts'],
    unit: 'kills',
    variable: 'REPLICA_KILLS',
    each: 20,
    times: 1,
  },
  {
    name: 'network to Redis',
    files: ['test/replicas/faults.test.ts'],
    unit: 'seconds of faults',
    variable: 'STORE_FAULT_SECONDS',
    each: 30,
    times: 7,
  },
];
