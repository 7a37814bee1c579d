/**
 * `npm run test:full -- --minutes 20`: the random suites again and again, each time from other seeds, for as long as
 * it is given; then two tables, of what was tried and of what the suites measured on the way. The first failure ends
 * it, with the suite's own words (they name the seed).
 *
 * A suite tells a figure by printing a line `figure: NAME VALUE UNIT`.
 */
import { spawn } from 'node:child_process';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { SUITES, type Suite } from './suites.ts';

type Tried = { readonly rounds: number; readonly seconds: number };
type Figure = { readonly unit: string; readonly values: readonly string[] };

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' } } });
const startMs = performance.now();
const endMs = startMs + Number(values.minutes) * 60_000;
const tried = new Map<string, Tried>();
const figures = new Map<string, Figure>();

for (let round = 0; performance.now() < endMs; round += 1) {
  const suite = SUITES[round % SUITES.length];
  if (!suite) break;
  const beganMs = performance.now();
  const { passed, printed } = await runSuite(suite);
  if (!passed) {
    console.error(`${printed}\n${suite.name} failed in round ${round + 1}.`);
    process.exitCode = 1;
    break;
  }
  const before = tried.get(suite.name) ?? { rounds: 0, seconds: 0 };
  const seconds = (performance.now() - beganMs) / 1_000;
  tried.set(suite.name, { rounds: before.rounds + 1, seconds: before.seconds + seconds });
  keepFigures(printed);
  console.log(`${suite.name}: passed in ${seconds.toFixed(0)} s`);
}
printTables();

/** Runs one suite; its output is shown only when it fails. */
function runSuite({ files, variable, each }: Suite): Promise<{ passed: boolean; printed: string }> {
  const config = [
    'run',
    '--config',
    'test/vitest.config.ts',
    '--project',
    'unit',
    '--disableConsoleIntercept=true',
  ];
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', ...config, ...files], {
    env: { ...process.env, [variable]: String(each) },
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

function keepFigures(printed: string): void {
  for (const [, name = '', value = '', unit = ''] of printed.matchAll(/^figure: (.+) (\S+) (\S+)$/gm)) {
    const before = figures.get(name)?.values ?? [];
    figures.set(name, { unit, values: [...before, value] });
  }
}

function printTables(): void {
  const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
  const memory = (totalmem() / 2 ** 30).toFixed(0);
  console.log(
    `\n${minutes} minutes on ${availableParallelism()} cores (${cpus()[0]?.model}), ${memory} GiB, Node ${process.version}\n`,
  );
  console.log('| suite | rounds passed | tried in all | seconds |');
  console.log('|---|---|---|---|');
  for (const { name, unit, each, times } of SUITES) {
    const { rounds, seconds } = tried.get(name) ?? { rounds: 0, seconds: 0 };
    const all = (rounds * each * times).toLocaleString('en');
    console.log(`| ${name} | ${rounds} | ${all} ${unit} | ${seconds.toFixed(0)} |`);
  }
  console.log('\n| figure | lowest | highest | unit |');
  console.log('|---|---|---|---|');
  for (const [name, { unit, values: told }] of figures) {
    const sorted = told.toSorted((a, b) => Number.parseFloat(a) - Number.parseFloat(b));
    console.log(`| ${name} | ${sorted.at(0)} | ${sorted.at(-1)} | ${unit} |`);
  }
}
