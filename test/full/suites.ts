/** What `npm run test:full` goes through, round after round, and how much of each a round tries. */
export type Suite = {
  readonly name: string;
  /** What vitest is told to run. */
  readonly files: readonly string[];
  /** How much is tried: what the suites read from their environment. */
  readonly env: Readonly<Record<string, string>>;
};

export const SUITES: readonly Suite[] = [
  { name: 'model', files: ['test/model'], env: { MODEL_RUNS: '3000', MODEL_REDIS_RUNS: '40' } },
  {
    name: 'races',
    files: ['test/races/races.test.ts'],
    env: { RACE_RUNS: '3000', RACE_REDIS_RUNS: '40' },
  },
  {
    name: 'wrong designs',
    files: ['test/races/mutants.test.ts', 'test/races/replay.test.ts', 'test/unit'],
    env: {},
  },
  {
    name: 'kill',
    files: ['test/faults/kill.test.ts', 'test/faults/terminate.test.ts'],
    env: { KILL_CYCLES: '30', TERM_CYCLES: '5' },
  },
  { name: 'power cut', files: ['test/faults/power-cut.test.ts'], env: { CUT_POINTS: '4000' } },
  {
    name: 'disk',
    files: ['test/faults/disk-full.test.ts', 'test/faults/io-errors.test.ts', 'test/faults/flips.test.ts'],
    env: { OUTAGE_TIMES: '2', FLIP_RUNS: '600' },
  },
  { name: 'time', files: ['test/time'], env: {} },
  { name: 'overload', files: ['test/overload'], env: { OVERLOAD_SCALE: '1' } },
  {
    name: 'fuzz',
    files: ['test/http/fuzz.test.ts', 'test/security/fuzz.test.ts', 'test/security/keywords.test.ts'],
    env: { FUZZ_RUNS: '200000', PROPERTY_RUNS: '2000', VALID_RUNS: '1000' },
  },
  { name: 'security', files: ['test/security', 'test/push'], env: {} },
  { name: 'engines alike', files: ['test/engines/alike.test.ts'], env: { ALIKE_RUNS: '300' } },
  {
    name: 'replicas',
    files: ['test/replicas'],
    env: { REPLICA_KILLS: '10', REDIS_KILLS: '3', STORE_FAULT_SECONDS: '6' },
  },
  { name: 'lost results', files: ['test/faults/lost-results.test.ts'], env: { RUN_TASKS: '500' } },
];
