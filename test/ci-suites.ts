/**
 * What `npm test` leaves to `npm run test:ci`, with the reason and the seconds it took on two cores that had
 * other work too. A test file that is not listed here is run by `npm test` alone. A file with `fewer` is run
 * by both: by `npm test` with these smaller counts, by `npm run test:ci` with the full ones.
 */
import type { CiSuite } from './ci-suite.ts';
import { CONSOLE } from './console-suites.ts';
import { DOCUMENT } from './document-suites.ts';
import { OVERLOAD } from './overload-suites.ts';
import { REPLICAS } from './replica-suites.ts';

const E2E = 'test/e2e/e2e-stories.test.ts';
const EMBEDDED = 'test/engines/embedded.test.ts';
const RACES = 'test/properties/races.test.ts';

/** Crashes, power cuts and disks that fail. */
const CRASHES: readonly CiSuite[] = [
  {
    file: 'test/resilience/power-cut.test.ts',
    seconds: 201,
    reason: '2,000 power cuts of recorded file operations',
    partIn: [EMBEDDED, 'test/engines/embedded-file.test.ts'],
  },
  {
    file: 'test/resilience/full-memory.test.ts',
    seconds: 110,
    reason: 'fills a heap to the brim, three times',
    partIn: [EMBEDDED, 'test/gateway/agents.test.ts'],
  },
  { file: 'test/resilience/kill.test.ts', seconds: 100, reason: '25 kills under load', partIn: [E2E] },
  {
    file: 'test/resilience/io-errors.test.ts',
    seconds: 54,
    reason: 'whole outages of the disk under the real process, and one of 20 s',
    partIn: [EMBEDDED],
  },
  {
    file: 'test/resilience/disk-stages.test.ts',
    seconds: 40,
    reason: 'file systems of its own that fill under the real process',
    partIn: [EMBEDDED],
  },
  {
    file: 'test/resilience/disk-full.test.ts',
    seconds: 18,
    reason: 'whole outages of the disk under the real process',
    partIn: [EMBEDDED],
  },
  {
    file: 'test/resilience/second-process.test.ts',
    seconds: 50,
    reason: 'processes that wait ten seconds for a lock',
    partIn: ['test/engines/embedded-file.test.ts'],
  },
  {
    file: 'test/resilience/flips.test.ts',
    seconds: 15,
    reason: 'hundreds of flipped bits, each in a database that is opened again',
    partIn: ['test/engines/embedded-file.test.ts', 'test/engines/write-ahead-log.test.ts'],
  },
  { file: 'test/resilience/terminate.test.ts', seconds: 18, reason: 'stops under load', partIn: [E2E] },
  {
    file: 'test/resilience/lost-results.test.ts',
    seconds: 22,
    reason: '250 runs through cut connections and kills',
    partIn: ['test/sdk/retries.test.ts', 'test/sdk/subscription.test.ts'],
  },
  {
    file: 'test/sdk/process.test.ts',
    seconds: 16,
    reason: 'agents as processes that block, are stopped and are killed',
    partIn: ['test/sdk/agent.test.ts', 'test/sdk/outbox.test.ts', 'test/sdk/work.test.ts'],
  },
  {
    file: 'test/sdk/clock-steps.test.ts',
    seconds: 9,
    reason: 'processes whose wall clock is set back while they wait',
    partIn: ['test/sdk/run.test.ts', 'test/sdk/agent.test.ts'],
  },
  {
    file: 'test/sdk/readme-compiles.test.ts',
    seconds: 7,
    reason: 'the compiler over the blocks of all READMEs',
    partIn: ['test/sdk/sdk-pages.test.ts'],
  },
  {
    file: 'test/sdk/client-fuzz.test.ts',
    seconds: 150,
    reason: 'every operation against 27 wrong answers, some of 80 MB, and agents watched for seconds',
    partIn: ['test/sdk/agent-faults.test.ts', 'test/sdk/retries.test.ts', 'test/sdk/errors.test.ts'],
  },
  {
    file: 'test/server/operating.test.ts',
    seconds: 15,
    reason: 'a backup under load, restored, and gateways that start, with the commands of OPERATING.md',
    partIn: ['test/package/container.test.ts', 'test/server/reverse-proxies.test.ts'],
  },
  {
    file: 'test/server/alerts.test.ts',
    seconds: 9,
    reason: 'a real Prometheus that scrapes a gateway until an alert fires',
    partIn: ['test/server/metrics.test.ts', 'test/server/metrics-table.test.ts'],
  },
  {
    file: 'test/server/bad-day.test.ts',
    seconds: 9,
    reason: 'the whole log of a gateway and its agents through failures of seconds',
    partIn: ['test/server/log.test.ts'],
  },
  {
    file: 'test/e2e/traces.test.ts',
    seconds: 19,
    reason: 'whole gateways with a tracing library, agents and pushes that fail',
    partIn: ['test/domain/trace-context.test.ts'],
  },
  {
    file: 'test/resilience/private-files.test.ts',
    seconds: 8,
    reason: 'gateways that start on folders of each umask',
    partIn: [],
  },
  {
    file: 'test/cli/completion.test.ts',
    seconds: 7,
    reason: 'three shells that complete commands',
    partIn: ['test/cli/commands.test.ts'],
  },
  {
    file: 'test/cli/restart.test.ts',
    seconds: 11,
    reason: 'commands that wait for a gateway to come back',
    partIn: ['test/cli/commands.test.ts'],
  },
  {
    file: 'test/sdk/sdk-stories.test.ts',
    seconds: 18,
    reason: 'clients and agents of real gateways, from start to stop',
    partIn: ['test/sdk/run.test.ts', 'test/sdk/subscription.test.ts', 'test/sdk/agent.test.ts'],
  },
  {
    file: 'test/cli/signals.test.ts',
    seconds: 25,
    reason: '26 agents as processes, in terminals and without, each ended in its own way',
    partIn: ['test/cli/child.test.ts', 'test/cli/agent-exec.test.ts'],
  },
  {
    file: 'test/cli/open-files.test.ts',
    seconds: 20,
    reason: 'agents that run out of files, and the gateway’s further attempts',
    partIn: ['test/cli/child.test.ts'],
  },
  {
    file: 'test/cli/foreign-servers.test.ts',
    seconds: 15,
    reason: 'a hundred commands against wrong answers, and agents watched for seconds',
    partIn: ['test/cli/exit-codes.test.ts'],
  },
  {
    file: 'test/cli/diagnosis.test.ts',
    seconds: 12,
    reason: 'wrong secrets, wrong usage and outages, each by real commands against a real gateway',
    partIn: ['test/cli/checks.test.ts'],
  },
];

/** Random plans and orders, and clocks. */
const RANDOM: readonly CiSuite[] = [
  {
    file: 'test/resilience/keywords.test.ts',
    seconds: 9,
    reason: 'each keyword of the document broken in each operation',
    partIn: ['test/http/request-fuzz.test.ts'],
  },
  {
    file: 'test/domain/reachable-states.test.ts',
    seconds: 16,
    reason: 'two million steps',
    partIn: ['test/domain/state-table.test.ts'],
  },
  {
    file: RACES,
    seconds: 180,
    reason: '2,000 orders of each race',
    partIn: [RACES],
    fewer: { RACE_RUNS: '50' },
  },
  {
    file: 'test/properties/model.test.ts',
    seconds: 76,
    reason: '2,000 plans on each engine',
    partIn: ['test/properties/model.test.ts'],
    fewer: { MODEL_RUNS: '100' },
  },
  {
    file: 'test/engines/alike.test.ts',
    seconds: 11,
    reason: '25 random histories on both engines',
    partIn: ['test/engines/alike.test.ts'],
    fewer: { ALIKE_RUNS: '4' },
  },
  {
    file: 'test/properties/replay.test.ts',
    seconds: 13,
    reason: 'a plan and an order that are run a hundred times each',
    partIn: ['test/properties/model.test.ts'],
  },
  {
    file: 'test/properties/mutants.test.ts',
    seconds: 18,
    reason: 'up to 10,000 runs until a planted wrong design is found',
    partIn: [],
  },
  {
    file: 'test/properties/stopped.test.ts',
    seconds: 31,
    reason: 'a process that is stopped for 20 s',
    partIn: ['test/server/clock.test.ts'],
  },
  {
    file: 'test/properties/jumps.test.ts',
    seconds: 18,
    reason: 'gateways whose clock jumps, and restarts',
    partIn: ['test/server/clock.test.ts', 'test/engines/embedded-clock.test.ts'],
  },
];

/** What is packed, compiled and shown in a browser. */
const PACKAGES: readonly CiSuite[] = [
  {
    file: 'test/cli/terminal.test.ts',
    seconds: 20,
    reason: 'a real terminal, by tmux',
    partIn: ['test/cli/commands.test.ts', 'test/cli/width.test.ts'],
  },
  {
    file: 'test/e2e/start.test.ts',
    seconds: 20,
    reason: 'a process for each way in which a start can end',
    partIn: ['test/package/root-readme.test.ts'],
  },
  {
    file: 'test/e2e/npm-signals.test.ts',
    seconds: 13,
    reason: 'npm itself, once for each script that lasts',
    partIn: ['test/e2e/mock.test.ts'],
  },
  {
    file: 'test/package/scripts.test.ts',
    seconds: 15,
    reason: 'each npm script as a process',
    partIn: ['test/e2e/mock.test.ts'],
  },
  {
    file: 'test/package/checkout.test.ts',
    seconds: 45,
    reason: 'programs and commands in a fresh checkout, and in one without what only developers need',
    partIn: ['test/package/root-readme.test.ts'],
  },
  {
    file: 'test/package/package.test.ts',
    seconds: 60,
    reason: 'packs, installs, uses and compiles what is published',
    partIn: ['test/package/bundle.test.ts', 'test/sdk/platforms.test.ts'],
  },
  {
    file: 'test/package/container-steps.test.ts',
    seconds: 25,
    reason: 'installs and starts the gateway by the steps of the Dockerfile',
    partIn: ['test/package/container.test.ts'],
  },
  {
    file: 'test/package/builders.test.ts',
    seconds: 40,
    reason: 'installs a bundler and a test runner from the registry',
    partIn: ['test/package/bundle.test.ts', 'test/sdk/platforms.test.ts'],
  },
  {
    file: 'test/sdk/sdk-browser.test.ts',
    seconds: 16,
    reason: 'a browser, and a gateway that is killed',
    partIn: ['test/sdk/subscription.test.ts'],
  },
  {
    file: 'test/sdk/examples.test.ts',
    seconds: 12,
    reason: 'each example as a process, and one in a browser',
    partIn: ['test/sdk/sdk-pages.test.ts'],
  },
  {
    file: 'test/sdk/example-servers.test.ts',
    seconds: 25,
    reason: 'servers and agents as processes, each with a gateway',
    partIn: ['test/sdk/sdk-pages.test.ts'],
  },
  {
    file: 'test/sdk/example-workflow.test.ts',
    seconds: 10,
    reason: 'each step of a CI job, with a mock and a gateway',
    partIn: ['test/sdk/sdk-pages.test.ts'],
  },
  {
    file: 'test/resilience/cross-origin.test.ts',
    seconds: 5,
    reason: 'a browser',
    partIn: ['test/http/surface.test.ts'],
  },
  {
    file: 'test/resilience/docs-browser.test.ts',
    seconds: 15,
    reason: 'a browser that renders the whole document',
    partIn: ['test/http/docs.test.ts'],
  },
  { file: 'test/e2e/demo.test.ts', seconds: 13, reason: 'the whole of npm run demo', partIn: [E2E] },
];

export const CI_SUITES: readonly CiSuite[] = [
  ...[...CRASHES, ...REPLICAS, ...OVERLOAD, ...RANDOM, ...PACKAGES, ...DOCUMENT, ...CONSOLE],
];
