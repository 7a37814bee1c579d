/**
 * The client's role of the kit: clients that conform, subjects that are no client, and the kit itself. Every
 * check has a control, and finds the fault that it plants.
 */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLIENT_CHECKS } from './client-checks.ts';
import { CLIENT_CONTROLS } from './client-controls.ts';
import { describeRole } from './role.suite.ts';
import type { Run } from './run-checks.ts';
import { type ClientRunOptions, runClientChecks } from './run-client-checks.ts';
import { runScriptedClient, tryClientControls } from './scripted-runs.ts';
import { startsCommand } from './started-command.ts';
import { complaintsOf, idsOf, runPage } from './tested-runs.ts';

const ROOT = join(import.meta.dirname, '../..');
const NODE = process.execPath;
const LIMIT_MS = 600_000;
const TRIALS_AT_ONCE = 4;
const ARGUMENTS = '"$TASK_TAG" "$TASK_PAYLOAD" "$TASK_TYPE"';
const RUN = 'run "$TASK_TYPE" "$TASK_PAYLOAD" --tag "$TASK_TAG" -o json';

/** Several runs are played at once, so each has few processes: more would wait for the processors. */
function runCommand(command: string, more: Partial<ClientRunOptions> = {}): Promise<Run> {
  return runClientChecks({ starter: startsCommand(command), trialsAtOnce: TRIALS_AT_ONCE, ...more });
}

const NEVER = ['as-client.reads-on'];
const OF_SESSIONS = ['events.subscribe-first', 'as-client.session', 'as-client.early-event', 'as-client.gap'];
const OF_STREAMS = [
  'as-client.busy-stream',
  'as-client.pieces',
  'as-client.frames',
  'as-client.event-types',
  'as-client.comments',
  'as-client.resumes',
  'as-client.repeats',
  'as-client.cut-event',
];
const OF_OUTPUTS = ['as-client.output-resumes', 'as-client.output-end', 'as-client.output-once'];
const OF_ANSWERS = ['as-client.output-answers-again', 'as-client.output-answers-once'];
/** The requirements of clients that follow their task's own stream and show no piece. */
const OF_OTHERS = [...OF_SESSIONS, 'as-client.output-once', ...OF_ANSWERS, ...NEVER];

/** This client never gets a task, and opens its stream when it is read. */
const WITHOUT_POLLS = [
  'as-client.gap',
  'as-client.opaque-id',
  'as-client.polls',
  'as-client.polls-again',
  'as-client.reads-again',
  'as-client.too-many',
  'as-client.unknown-values',
  'events.subscribe-first',
];

describe.concurrent('a client that conforms', () => {
  test.each([
    ['an example with the SDK', `sdk/examples/client.js ${ARGUMENTS}`, OF_OTHERS],
    ['task-gateway run', `sdk/bin/task-gateway.js ${RUN}`, OF_OTHERS],
    ['runTask of the SDK', 'test/conformance/running-client.ts', [...OF_OUTPUTS, ...OF_ANSWERS, ...NEVER]],
  ])(
    '%s',
    async (_what, command, unscored) => {
      const run = await runCommand(`${NODE} ${join(ROOT, command)}`, { limitMs: LIMIT_MS / 4 });
      console.log(`figure: conformance-client-seconds ${run.seconds.toFixed(1)}`);
      expect(complaintsOf(run)).toEqual([]);
      expect(idsOf(run, 'not_scored').toSorted()).toEqual(unscored.toSorted());
    },
    LIMIT_MS,
  );

  test(
    'the same, where it shows the output and answers',
    async ({ expect: wants }) => {
      const command = `${NODE} ${join(import.meta.dirname, 'running-client.ts')} answers`;
      const run = await runCommand(command, { limitMs: LIMIT_MS / 4, only: 'as-client.output-' });
      wants(idsOf(run, 'pass').toSorted()).toEqual([...OF_OUTPUTS, ...OF_ANSWERS].toSorted());
    },
    LIMIT_MS,
  );

  test(
    'the SDK’s subscription alone loses no result, while there is a stream',
    async ({ expect: wants }) => {
      const run = await runCommand(`${NODE} ${join(import.meta.dirname, 'streaming-client.ts')}`, {
        limitMs: LIMIT_MS / 4,
        again: false,
      });
      const complaints = [...idsOf(run, 'fail'), ...idsOf(run, 'warn'), ...idsOf(run, 'error')];
      wants(complaints.toSorted()).toEqual(WITHOUT_POLLS);
      wants(idsOf(run, 'pass')).toEqual(
        expect.arrayContaining([...OF_SESSIONS, ...OF_STREAMS].filter((id) => !WITHOUT_POLLS.includes(id))),
      );
    },
    LIMIT_MS,
  );
});

describe('the client of the page', () => {
  // Its command plays as many scenarios at once as the kit does by default, so nothing else runs beside it.
  test('conforms, which is the SDK’s in Python', { tags: 'python-tools', timeout: LIMIT_MS }, async () => {
    const { promised, ...ran } = await runPage('--client', 'my_client.py', 'sdk/examples/python/client.py');
    expect(ran).toEqual({ code: 0, printed: promised });
  });
});

describe('a small client', () => {
  test(
    'conforms with a stream, and when it polls',
    async ({ expect: wants }) => {
      const run = await runScriptedClient();
      wants(complaintsOf(run)).toEqual([]);
      wants(idsOf(run, 'not_scored')).toEqual(NEVER);
      const polling = await runScriptedClient(undefined, true);
      wants(complaintsOf(polling)).toEqual([]);
      const unscored = [...OF_SESSIONS, ...OF_STREAMS, ...OF_OUTPUTS, ...OF_ANSWERS, ...NEVER];
      wants(idsOf(polling, 'not_scored').toSorted()).toEqual(unscored.toSorted());
    },
    LIMIT_MS,
  );
});

describeRole({
  role: 'client',
  runCommand,
  checks: CLIENT_CHECKS,
  controls: CLIENT_CONTROLS,
  tryControls: () => tryClientControls(false),
  others: ["trap '' INT TERM; sleep 60", `echo '{"status":"success","result":{"output":"done"}}'`],
  failMin: 40,
});
