/**
 * The suites. `TEST_GROUP` chooses a group of `suites.txt`, as `test/run-tests.ts` sets it; without it,
 * everything is run with its full counts. The contract suite is one file that is run twice: on a mock that
 * knows the document alone, and on the real server.
 */
import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { findTool, TOOL_NAMES } from './harness/tools.ts';
import { type Group, listFiles, readCounts } from './suites.ts';

const root = new URL('..', import.meta.url).pathname;
const CONTRACT = 'test/contract/contract.test.ts';
const group = process.env.TEST_GROUP as Group | undefined;
const order = group ? listFiles(group) : [];
const unit = {
  include: group ? order.filter((file) => file !== CONTRACT) : ['test/**/*.test.ts'],
  // The benchmark installs its peer's packages below test/, and those bring tests of their own.
  exclude: ['**/node_modules/**', CONTRACT],
  env: {
    ...(group && readCounts(group)),
    // What is promised within a time is asserted as it is promised.
    ...(group === 'alone' && { SLACK: 'none' }),
  },
};
const contract = group && !order.includes(CONTRACT) ? [] : [CONTRACT];

/** In the order of the list: the longest first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => order.indexOf(relative(root, moduleId));
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

/** A test with the tag of a tool is skipped where the tool is missing. */
const tags = TOOL_NAMES.map((name) => ({ name, ...(findTool(name) === null && { skip: true }) }));

/** Suites beside each other: they wait about as long as they compute, so two cores serve four of them. */
const WORKERS = group === 'alone' ? 1 : 4;

const TIMEOUT_MS = group === 'quick' ? 30_000 : 180_000;

export default defineConfig({
  root,
  resolve: { conditions: ['task-gateway-source'] },
  test: {
    // A CommonJS package looks to a test as it looks to Node.
    deps: { interopDefault: false },
    // A thread can be stuck for ever after its tests, and a process never ends before its threads.
    pool: 'forks',
    // The suites that a developer waits for share four processes, each of which loads the sources once.
    isolate: group !== 'quick',
    maxWorkers: WORKERS,
    sequence: { sequencer: LongestFirst },
    // A test that hangs fails; how long one takes depends on what else the machine does.
    testTimeout: TIMEOUT_MS,
    hookTimeout: TIMEOUT_MS,
    // What is waited for comes within milliseconds; on a machine with other work it may take longer.
    // A test that returns before it asserts anything would count as passed.
    expect: { poll: { timeout: 30_000 }, requireAssertions: true },
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
