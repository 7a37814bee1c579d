/** The suites of `npm run test:full`, and how much of each one round tries. */
export type Suite = {
  readonly name: string;
  /** The files vitest runs. */
  readonly files: readonly string[];
  /** How much is tried: what the suites read from their environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Its files run one after the other: they measure. */
  readonly isInTurn?: boolean;
};

const inResilience = (...names: readonly string[]): readonly string[] =>
  names.map((name) => `test/resilience/${name}.test.ts`);
const OVERLOAD = [
  ...inResilience('cycles', 'push-load', 'slow-callers', 'stream-load'),
  'test/resilience/bounds',
];
const SECURITY = inResilience('cross-origin', 'canary', 'socket-fuzz', 'injection');
const REPLICAS = inResilience('replicas', 'rolling-restart', 'redis-faults', 'redis-start', 'failover');

export const SUITES: readonly Suite[] = [
  {
    name: 'model',
    files: ['test/properties/model.test.ts'],
    env: { MODEL_RUNS: '600', MODEL_REDIS_RUNS: '40' },
  },
  {
    name: 'races',
    files: ['test/properties/races.test.ts'],
    env: { RACE_RUNS: '6000', RACE_REDIS_RUNS: '40' },
  },
  {
    name: 'wrong designs',
    files: ['test/properties/mutants.test.ts', 'test/properties/replay.test.ts', 'test/domain'],
    env: {},
  },
  {
    name: 'kill',
    files: ['test/resilience/kill.test.ts', 'test/resilience/terminate.test.ts'],
    env: { KILL_CYCLES: '30', TERM_CYCLES: '5' },
  },
  { name: 'power cut', files: ['test/resilience/power-cut.test.ts'], env: { CUT_POINTS: '4000' } },
  {
    name: 'disk',
    files: ['test/resilience/disk-full.test.ts', 'test/resilience/io-errors.test.ts'],
    env: { OUTAGE_TIMES: '2', OUTAGE_SECONDS: '20' },
  },
  {
    name: 'time',
    files: ['test/properties/jumps.test.ts'],
    env: {},
  },
  { name: 'overload', files: OVERLOAD, env: { OVERLOAD_SCALE: '1' }, isInTurn: true },
  {
    name: 'fuzz',
    files: ['test/http/valid-requests.test.ts', 'test/resilience/socket-fuzz.test.ts'],
    env: { FUZZ_RUNS: '200000', VALID_RUNS: '1000' },
  },
  { name: 'security', files: [...SECURITY, 'test/push'], env: {} },
  { name: 'engines alike', files: ['test/engines/alike.test.ts'], env: { ALIKE_RUNS: '300' } },
  {
    name: 'replicas',
    files: REPLICAS,
    env: { REPLICA_KILLS: '10', ROLLING_RESTARTS: '2', REDIS_KILLS: '3', STORE_FAULT_SECONDS: '6' },
  },
  { name: 'lost results', files: ['test/resilience/lost-results.test.ts'], env: { RUN_TASKS: '500' } },
];
