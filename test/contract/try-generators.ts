/**
 * `node test/contract/try-generators.ts`: installs the generators and validators of others, runs their tests,
 * and when all have passed notes which documents they were tried with. Nothing else writes that file. With
 * `--check` it only says whether the documents have changed since, and exits with 1 if so, as `.ci/run` asks;
 * with `--install` it only installs, and leaves out a language whose toolchain is missing.
 */
import { spawnSync } from 'node:child_process';
import { installLanguages } from '../harness/language-tools.ts';
import {
  FOREIGN_PACKAGES,
  GENERATOR_TESTS,
  noteGeneratorsTried,
  wereGeneratorsTried,
} from '../harness/tried-generators.ts';

const tried = wereGeneratorsTried();
console.log(
  tried
    ? 'The generators of clients were tried with these documents.'
    : 'The documents have changed since the generators of clients were tried: node test/contract/try-generators.ts',
);
if (process.argv.includes('--check')) process.exit(tried ? 0 : 1);
run(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], FOREIGN_PACKAGES);
const missing = installLanguages();
for (const sentence of missing) console.error(sentence);
if (process.argv.includes('--install')) process.exit(0);
if (missing.length > 0) {
  console.error('Nothing was tried and nothing is noted: that takes all of them.');
  process.exit(1);
}
run(['test', '--', ...GENERATOR_TESTS]);
noteGeneratorsTried();
console.log('All passed: test/contract/generators/tried.txt is written.');

function run(words: readonly string[], cwd?: string): void {
  const { TOOLS: _all, ...env } = process.env;
  const { status } = spawnSync('npm', words, { cwd, env, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}
