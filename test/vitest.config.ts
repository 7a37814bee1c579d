/**
 * The suites. `TEST_GROUP` chooses a group, as `test/run-tests.ts` sets it: `quick` for what `npm test` runs,
 * `ci` and `alone` for what it leaves out; without it, everything with its full counts. The contract suite is
 * one file that is run twice: on a mock that knows the document alone, and on the real server.
 */
import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { TIMED } from './ci-suite.ts';
import { CI_SUITES } from './ci-suites.ts';
import { findTool, TOOL_NAMES } from './harness/tools.ts';

const root = new URL('..', import.meta.url).pathname;
const CONTRACT = 'test/contract/contract.test.ts';
const group = process.env.TEST_GROUP;
const long = CI_SUITES.filter(({ fewer }) => fewer === undefined).map(({ file }) => file);
/** What `npm run test:ci` runs, and what `npm run test:alone` runs one after the other. */
const chosen = CI_SUITES.filter(({ alone, file }) =>
  group === 'alone' ? alone || file in TIMED : alone !== true,
).map(({ file }) => file);
/** Of `npm run test:alone`: what is promised within a time is asserted as it is promised. */
const bare = { SLACK: 'none', ...Object.assign({}, ...Object.values(TIMED)) };
/** The counts of `npm test`; a variable that is set already wins. */
const fewer = Object.fromEntries(
  CI_SUITES.flatMap((suite) => Object.entries(suite.fewer ?? {})).map(
    ([name, count]) => [name, process.env[name] ?? count] as const,
  ),
);
const unit = {
  include: group === 'ci' || group === 'alone' ? chosen : ['test/**/*.test.ts'],
  // The benchmark installs its peer's packages below test/, and those bring tests of their own.
  exclude: ['**/node_modules/**', CONTRACT, ...(group === 'quick' ? long : [])],
  env: { quick: fewer, alone: bare }[group ?? ''] ?? {},
};
const contract = group === 'ci' || group === 'alone' ? [] : [CONTRACT];

/** What takes longest of `npm test`, and how many seconds. */
const QUICK_SECONDS: ReadonlyMap<string, number> = new Map([
  ['test/engines/embedded.test.ts', 60],
  ['test/e2e/e2e-stories.test.ts', 41],
  ['test/cli/commands.test.ts', 23],
  ['test/gateway/silence.test.ts', 21],
  ['test/cli/agent-exec.test.ts', 18],
  ['test/http/body-bounds.test.ts', 15],
  ['test/sdk/sdk-pages.test.ts', 22],
  ['test/cli/administration.test.ts', 17],
  ['test/gateway/agents.test.ts', 13],
  ['test/gateway/moving.test.ts', 13],
  ['test/gateway/task-rows.test.ts', 12],
  ['test/engines/embedded-file.test.ts', 12],
]);

/** The longest first, so that none is left for the end while the other workers have nothing to do. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const secondsOf = ({ moduleId }: TestSpecification): number =>
      QUICK_SECONDS.get(relative(root, moduleId)) ??
      CI_SUITES.find(({ file }) => file === relative(root, moduleId))?.seconds ??
      0;
    return (await super.sort(files)).toSorted((a, b) => secondsOf(b) - secondsOf(a));
  }
}

/** A test with the tag of a tool is skipped where the tool is missing. */
const tags = TOOL_NAMES.map((name) => ({ name, ...(findTool(name) === null && { skip: true }) }));

/**
 * Suites beside each other: many wait more than they compute, so two cores serve three of the long ones, and
 * four of the others.
 */
const WORKERS = { alone: 1, quick: 4 }[group ?? ''] ?? 3;

export default defineConfig({
  root,
  resolve: { conditions: ['task-gateway-source'] },
  test: {
    // A CommonJS package looks to a test as it looks to Node.
    deps: { interopDefault: false },
    pool: 'threads',
    maxWorkers: WORKERS,
    sequence: { sequencer: LongestFirst },
    // A test that hangs fails; how long one takes depends on what else the machine does.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for comes within milliseconds; on a machine with other work it may take longer.
    // A test that returns before it asserts anything would count as passed.
    expect: { poll: { timeout: 10_000 }, requireAssertions: true },
    tags,
    projects: [
      { extends: true, test: { name: 'unit', ...unit } },
      {
        extends: true,
        test: { name: 'contract-mock', include: contract, provide: { contractPeer: 'mock' as const } },
      },
      {
        extends: true,
        test: { name: 'contract-server', include: contract, provide: { contractPeer: 'server' as const } },
      },
    ],
  },
});
