/**
 * `npm run test:full -- --minutes 20`: the random and the slow suites again and again, each time from other
 * seeds, for as long as `--minutes` says, each at least once; then tables of what was tried and of what was
 * measured. The first failure ends it and prints the suite's output, which names the seed.
 */
import { spawn } from 'node:child_process';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { stripVTControlCharacters } from 'node:util';
import { readScriptOptions } from '../harness/script-options.ts';
import { SUITES, type Suite } from '../suites.ts';

type Tried = { readonly rounds: number; readonly seconds: number };
type Figure = { readonly unit: string; readonly values: readonly number[] };

const values = readScriptOptions('npm run test:full', {
  minutes: { type: 'string', value: 'NUMBER', default: '20' },
});
const startMs = performance.now();
const endMs = startMs + Number(values.minutes) * 60_000;
const suites = SUITES.filter(({ runs }) => runs.full);
const tried = new Map<string, Tried>();
const figures = new Map<string, Figure>();
const tallies = new Map<string, Figure>();

for (let round = 0; round < suites.length || performance.now() < endMs; round += 1) {
  const suite = suites[round % suites.length];
  if (!suite) break;
  const beganMs = performance.now();
  const { passed, printed } = await runSuite(suite);
  if (!passed) {
    console.error(`${printed}\n${suite.file} failed in round ${round + 1}.`);
    process.exitCode = 1;
    break;
  }
  const before = tried.get(suite.file) ?? { rounds: 0, seconds: 0 };
  const seconds = (performance.now() - beganMs) / 1_000;
  tried.set(suite.file, { rounds: before.rounds + 1, seconds: before.seconds + seconds });
  collect('figure', printed, figures);
  collect('tally', printed, tallies);
  console.error(`${suite.file}: passed in ${seconds.toFixed(0)} s`);
}
printTables();

/** Runs one suite; its output is shown only when it fails. */
function runSuite({ file, runs }: Suite): Promise<{ passed: boolean; printed: string }> {
  const config = ['run', '--config', 'test/vitest.config.ts', '--disableConsoleIntercept=true'];
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', ...config, file], {
    env: { ...process.env, TEST_FULL: 'true', ...runs.full?.counts },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
  }
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve({ passed: code === 0, printed: stripVTControlCharacters(printed) }));
  });
}

function collect(kind: 'figure' | 'tally', printed: string, into: Map<string, Figure>): void {
  const lines = new RegExp(`^${kind}: (.+) (\\S+) (\\S+)$`, 'gm');
  for (const [, name = '', value = '', unit = ''] of printed.matchAll(lines)) {
    const before = into.get(name)?.values ?? [];
    into.set(name, { unit, values: [...before, Number(value)] });
  }
}

function printTables(): void {
  const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
  const memory = (totalmem() / 2 ** 30).toFixed(0);
  const machine = `${availableParallelism()} cores (${cpus()[0]?.model}), ${memory} GiB, Node ${process.version}`;
  console.log(`\n${minutes} minutes on ${machine}\n`);
  console.log('| suite | rounds passed | seconds |\n|---|---|---|');
  for (const { file } of suites) {
    const { rounds, seconds } = tried.get(file) ?? { rounds: 0, seconds: 0 };
    console.log(`| ${file} | ${rounds} | ${seconds.toFixed(0)} |`);
  }
  console.log('\n| tried or counted | in all | |\n|---|---|---|');
  for (const [name, { unit, values: counts }] of tallies) {
    const all = counts.reduce((sum, count) => sum + count, 0);
    console.log(`| ${name} | ${all.toLocaleString('en')} | ${unit} |`);
  }
  console.log('\n| measured | least | greatest | |\n|---|---|---|---|');
  for (const [name, { unit, values: measured }] of figures)
    console.log(`| ${name} | ${Math.min(...measured)} | ${Math.max(...measured)} | ${unit} |`);
}
