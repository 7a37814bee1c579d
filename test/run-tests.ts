/**
 * `npm test`, `npm run test:ci` and `npm run test:alone`: runs one of the groups of tests with vitest, and
 * passes on its options. Where files are named (`npm test -- FILE…`), exactly these are run, of whichever
 * group, with their full counts.
 */
import { enableCompileCache } from 'node:module';
import { createCLI, parseCLI, startVitest } from 'vitest/node';
import { CI_SUITES } from './ci-suites.ts';
import { refuseOptions } from './harness/script-options.ts';

// The threads of the engines and the processes of the tests load the same sources hundreds of times.
const cacheFolder = new URL('../node_modules/.cache/task-gateway-tests', import.meta.url).pathname;
enableCompileCache(cacheFolder);
process.env.NODE_COMPILE_CACHE ??= cacheFolder;

const [group = 'quick', ...words] = process.argv.slice(2);
requireKnownOptions(words);
const { filter, options } = parseCLI(['vitest', 'run', '--config', 'test/vitest.config.ts', ...words]);
if (filter.length === 0) {
  process.env.TEST_GROUP = group;
  console.log(describeGroup());
}
const vitest = await startVitest('test', filter, options);
await vitest.exit();

/** What is left out, and which counts are smaller. */
function describeGroup(): string {
  if (group === 'ci') return 'The long suites, with their full counts; "npm test" runs all the others.';
  if (group === 'alone') return 'The long suites that measure, one after the other.';
  const fewer = CI_SUITES.flatMap((suite) => Object.entries(suite.fewer ?? {}));
  const counts = fewer.map(([name, count]) => `${name}=${process.env[name] ?? count}`);
  return (
    `Without the ${CI_SUITES.length - fewer.length} long suites of "npm run test:ci", which test/ci-suites.ts ` +
    `lists, and with fewer runs of ${fewer.length} others: ${counts.join(', ')}.`
  );
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
