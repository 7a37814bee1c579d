/**
 * `npm run test:full -- --minutes 20`: the random suites again and again, each time from other seeds, for as long as it
 * is given; then a table of what was tried. The first failure ends it, with the suite's own words (they name the seed).
 */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

type Suite = {
  readonly name: string;
  readonly files: string;
  /** What one round tries, and the variable that says how much. */
  readonly unit: string;
  readonly variable: string;
  readonly each: number;
  /** How many times that is tried in a round, such as one for each race and store. */
  readonly times: number;
};

const SUITES: readonly Suite[] = [
  { name: 'model', files: 'test/model', unit: 'lives', variable: 'MODEL_RUNS', each: 5_000, times: 2 },
  {
    name: 'races',
    files: 'test/races/races.test.ts',
    unit: 'orders',
    variable: 'RACE_RUNS',
    each: 1_000,
    times: 18,
  },
  {
    name: 'kill',
    files: 'test/faults/kill.test.ts',
    unit: 'kills',
    variable: 'KILL_CYCLES',
    each: 50,
    times: 1,
  },
  {
    name: 'power cut',
    files: 'test/faults/power-cut.test.ts',
    unit: 'cuts',
    variable: 'CUT_POINTS',
    each: 8_000,
    times: 1,
  },
  {
    name: 'fuzz',
    files: 'test/http/fuzz.test.ts',
    unit: 'inputs a property',
    variable: 'FUZZ_RUNS',
    each: 5_000,
    times: 1,
  },
];

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' } } });
const endMs = performance.now() + Number(values.minutes) * 60_000;
const tried = new Map<string, { rounds: number; seconds: number }>();

for (let round = 0; performance.now() < endMs; round += 1) {
  const suite = SUITES[round % SUITES.length];
  if (!suite) break;
  const startMs = performance.now();
  if (!(await runSuite(suite))) {
    console.error(`\n${suite.name} failed in round ${round + 1}.`);
    process.exitCode = 1;
    break;
  }
  const before = tried.get(suite.name) ?? { rounds: 0, seconds: 0 };
  const seconds = before.seconds + (performance.now() - startMs) / 1_000;
  tried.set(suite.name, { rounds: before.rounds + 1, seconds });
}
printTable();

/** Runs one suite; its output is shown only when it fails. */
function runSuite({ files, variable, each }: Suite): Promise<boolean> {
  const vitest = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/vitest.config.ts',
    '--project',
    'unit',
  ];
  const child = spawn(process.execPath, [...vitest, files], {
    env: { ...process.env, [variable]: String(each) },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      printed += text;
    });
  }
  return new Promise((resolve) => {
    child.once('exit', (code) => {
      if (code !== 0) console.error(printed);
      resolve(code === 0);
    });
  });
}

function printTable(): void {
  console.log('| suite | rounds passed | tried in all | seconds |');
  console.log('|---|---|---|---|');
  for (const { name, unit, each, times } of SUITES) {
    const { rounds, seconds } = tried.get(name) ?? { rounds: 0, seconds: 0 };
    console.log(
      `| ${name} | ${rounds} | ${(rounds * each * times).toLocaleString('en')} ${unit} | ${seconds.toFixed(0)} |`,
    );
  }
}
