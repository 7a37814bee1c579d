/**
 * `npm test`, `npm run test:ci` and `npm run test:alone`: runs one of the groups of tests with vitest, and
 * passes on its options. Where files are named (`npm test -- FILE…`), exactly these are run, of whichever
 * group, with their full counts. It ends with what was skipped and why, then with the names of what failed.
 */
import { enableCompileCache } from 'node:module';
import { createCLI, createVitest, parseCLI, type TestCase, type Vitest } from 'vitest/node';
import { refuseOptions } from './harness/script-options.ts';
import { demandToolsInCi, findRemedy, TOOL_NAMES } from './harness/tools.ts';
import { findMistakes, listFiles, readCounts } from './suites.ts';

// The processes of the tests, and the threads of the engines, load the same sources hundreds of times.
const cacheFolder = new URL('../node_modules/.cache/task-gateway-tests', import.meta.url).pathname;
enableCompileCache(cacheFolder);
process.env.NODE_COMPILE_CACHE ??= cacheFolder;

const [group = 'quick', ...words] = process.argv.slice(2);
requireKnownOptions(words);
demandToolsInCi();
// A test that runs tests hands on its own group.
delete process.env.TEST_GROUP;
const { filter, options } = parseCLI(['vitest', 'run', '--config', 'test/vitest.config.ts', ...words]);
if (filter.length === 0) {
  demandList();
  process.env.TEST_GROUP = group;
  console.log(describeGroup());
}
const vitest = await createVitest('test', options);
try {
  await vitest.start(filter);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
printSkippedAndFailed(vitest);
// Unlike `startVitest`, it bounds the wait for what keeps vitest from closing.
await vitest.exit(true);

/** What is left out, and which counts are smaller. */
function describeGroup(): string {
  if (group === 'ci') return 'The long suites, with their full counts; "npm test" runs all the others.';
  if (group === 'alone') return 'The long suites that measure, one after the other.';
  const quick = new Set(listFiles('quick'));
  const long = [...listFiles('ci'), ...listFiles('alone')].filter((file) => !quick.has(file));
  const counts = Object.entries(readCounts('quick')).map(([name, count]) => `${name}=${count}`);
  return (
    `Without the ${new Set(long).size} long suites of "npm run test:ci" and "npm run test:alone", which ` +
    `test/suites.txt lists, and with fewer runs of others: ${counts.join(', ')}.`
  );
}

/** A file that no group would run must not pass for one that was run. */
function demandList(): void {
  const mistakes = findMistakes();
  for (const mistake of mistakes) console.error(`test/suites.txt: ${mistake}.`);
  if (mistakes.length > 0) process.exit(1);
}

/** Ends the process when one of the options is not one of vitest's. */
function requireKnownOptions(given: readonly string[]): void {
  const cli = createCLI();
  try {
    cli.parse(['node', 'vitest', 'run', ...given], { run: false });
    cli.matchedCommand?.checkUnknownOptions();
  } catch (error) {
    const mistake = error instanceof Error ? error.message : String(error);
    refuseOptions('npm test', mistake, 'It takes files, and the options of vitest, such as -t NAME.');
  }
}

/** How many were not run for want of each tool; then the names of all that failed, which come last. */
function printSkippedAndFailed({ state }: Vitest): void {
  const modules = state.getTestModules();
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const skipped = tests.filter((test) => test.result().state === 'skipped');
  for (const name of TOOL_NAMES) {
    const mine = skipped.filter(({ tags }) => tags.includes(name));
    const remedy = findRemedy(name);
    if (remedy !== null && mine.length > 0)
      console.log(`Skipped for want of ${name}: ${mine.length} (${remedy})`);
  }
  const noteOf = (test: TestCase): string => {
    const result = test.result();
    return result.state === 'skipped' ? (result.note ?? '') : '';
  };
  for (const test of skipped.filter((one) => noteOf(one) !== ''))
    console.log(`Skipped: ${test.module.relativeModuleId} > ${test.fullName}: ${noteOf(test)}.`);
  for (const module of modules) {
    const failed = [...module.children.allTests('failed')];
    if (!module.ok() && failed.length === 0) console.log(`Failed: ${module.relativeModuleId}`);
    for (const { fullName } of failed) console.log(`Failed: ${module.relativeModuleId} > ${fullName}`);
  }
}
