/**
 * The one list of the test files, `suites.txt`: in which groups each runs, with which counts, why `npm test`
 * leaves a long one out, and where it tries a small part of the same.
 */
import { globSync, readFileSync } from 'node:fs';

/** `npm test`, `npm run test:ci`, `npm run test:alone` and `npm run test:full`. */
const GROUPS = ['quick', 'ci', 'alone', 'full'] as const;
export type Group = (typeof GROUPS)[number];

/** How long a file takes in a group (in `full` 0), and the counts that its environment has there. */
type Run = { readonly seconds: number; readonly counts: Readonly<Record<string, string>> };
export type Suite = {
  readonly file: string;
  readonly runs: Readonly<Partial<Record<Group, Run>>>;
  /** Why it takes longer than a person waits before each push; empty where `npm test` runs all of it. */
  readonly reason: string;
  /** Files that `npm test` runs, which try a small part of the same property. */
  readonly parts: readonly string[];
};

const ROOT = new URL('..', import.meta.url).pathname;
const nameFile = (name: string): string => `test/${name}.test.ts`;

export const SUITES: readonly Suite[] = readFileSync(new URL('suites.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map(readSuite);

/** For example `properties/races | quick 11 RACE_RUNS=50, ci 159 | 2,000 orders of each race`. */
function readSuite(line: string): Suite {
  const [name = '', runs = '', reason = '', parts = ''] = line.split(' | ');
  return {
    file: nameFile(name),
    runs: Object.fromEntries(runs.split(', ').map((run) => readRun(run, line))),
    reason,
    parts: parts.split(', ').filter(Boolean).map(nameFile),
  };
}

function readRun(text: string, line: string): readonly [Group, Run] {
  const [word = '', ...rest] = text.split(' ');
  const group = GROUPS.find((one) => one === word);
  const [seconds = '', ...counts] = group === 'full' ? ['0', ...rest] : rest;
  if (!group || !/^\d+$/.test(seconds) || !counts.every((count) => /^[A-Z_]+=\w+$/.test(count)))
    throw new Error(`test/suites.txt: no group, seconds and counts: ${line}`);
  const pairs = counts.map((count) => count.split('=') as [string, string]);
  return [group, { seconds: Number(seconds), counts: Object.fromEntries(pairs) }];
}

/** The files of a group, the longest first, so that none is left for the end while other workers are idle. */
export function listFiles(group: Group): readonly string[] {
  const secondsOf = ({ runs }: Suite): number => runs[group]?.seconds ?? 0;
  const mine = SUITES.filter(({ runs }) => runs[group]);
  return mine.toSorted((a, b) => secondsOf(b) - secondsOf(a)).map(({ file }) => file);
}

/** The counts of a group; a variable that is set already wins. */
export function readCounts(group: Group): Readonly<Record<string, string>> {
  const all = SUITES.flatMap(({ runs }) => Object.entries(runs[group]?.counts ?? {}));
  return Object.fromEntries(all.map(([name, count]) => [name, process.env[name] ?? count]));
}

/** One sentence for each line that is wrong, and for each file that has none. */
export function findMistakes(suites: readonly Suite[] = SUITES, files = listTestFiles()): readonly string[] {
  const listed = new Map(suites.map((suite) => [suite.file, suite]));
  const isQuick = (file: string): boolean => listed.get(file)?.runs.quick !== undefined;
  const twice = suites.filter((suite) => listed.get(suite.file) !== suite);
  return [
    ...files.filter((file) => !listed.has(file)).map((file) => `${file} is not listed: add its line`),
    ...suites.filter(({ file }) => !files.includes(file)).map(({ file }) => `${file} is not there`),
    ...twice.map(({ file }) => `${file} is listed twice`),
    ...suites
      .filter(({ file, reason }) => !isQuick(file) && reason === '')
      .map(({ file }) => `${file} needs a reason why "npm test" leaves it out`),
    ...suites.flatMap(({ file, parts }) =>
      parts.filter((part) => !isQuick(part)).map((part) => `${file}: "npm test" does not run ${part}`),
    ),
  ];
}

/**
 * The benchmark installs its peer's packages below `test/`, and those bring tests of their own. Into a folder
 * `data` a suite writes tests that it runs.
 */
function listTestFiles(): readonly string[] {
  return globSync('test/**/*.test.ts', { cwd: ROOT, exclude: (path) => /node_modules|\bdata\b/.test(path) });
}
