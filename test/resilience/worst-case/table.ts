/**
 * `node test/resilience/worst-case/table.ts`: runs the suite, with the whole fixture, and prints what each
 * row cost on each engine as one table: the longest piece of the main thread / CPU of all threads (/ CPU of
 * the Redis), in milliseconds. What is over a bound stands in the table too, and ends
 * it with 1.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';

const SUITE = 'test/resilience/worst-case/worst-case.test.ts';
const LINE = /^worst-case \| (.+?) \| (.+?) \| (.+?) \| (.+)$/gm;

const child = spawn(process.execPath, ['test/run-tests.ts', 'ci', SUITE, '--disableConsoleIntercept=true'], {
  env: { WORST_TASKS: '140000', ...process.env },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
const engines = new Set<string>();
const rows = new Map<string, Map<string, string>>();
for (const [, engine = '', operation, at, cost = ''] of stripVTControlCharacters(printed).matchAll(LINE)) {
  const name = `${operation} | ${at}`;
  engines.add(engine);
  rows.set(name, (rows.get(name) ?? new Map<string, string>()).set(engine, cost));
}
if (code !== 0) console.error(printed);
console.log(`| operation | at | ${[...engines].join(' | ')} |\n|---|---|${'---|'.repeat(engines.size)}`);
for (const [name, costs] of rows)
  console.log(`| ${name} | ${[...engines].map((engine) => costs.get(engine) ?? '').join(' | ')} |`);
process.exitCode = code ?? 1;
