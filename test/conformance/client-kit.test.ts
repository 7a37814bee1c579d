/**
 * The client's role of the kit: clients that conform, what is no client, and the kit itself: every check has
 * a control, and finds the fault that it plants.
 */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLIENT_CHECKS } from './client-checks.ts';
import { CLIENT_CONTROLS } from './client-controls.ts';
import { REQUIREMENTS } from './requirements.ts';
import type { Run } from './run-checks.ts';
import { type ClientRunOptions, runClientChecks } from './run-client-checks.ts';
import { runScriptedClient, tryClientControls } from './scripted-runs.ts';
import { startsCommand } from './started-command.ts';
import { complaintsOf, findMisquoted, idsOf, runPage } from './tested-runs.ts';
import { exitCodeOf, summarize } from './verdicts.ts';

const ROOT = join(import.meta.dirname, '../..');
const NODE = process.execPath;
const LIMIT_MS = 600_000;
const TRIALS_AT_ONCE = 4;
const ARGUMENTS = '"$TASK_TAG" "$TASK_PAYLOAD" "$TASK_TYPE"';
const RUN = 'run "$TASK_TYPE" "$TASK_PAYLOAD" --tag "$TASK_TAG" -o json';

/** Several run beside each other, so each has few processes: more would wait for the processors. */
function runCommand(command: string, more: Partial<ClientRunOptions> = {}): Promise<Run> {
  return runClientChecks({ starter: startsCommand(command), trialsAtOnce: TRIALS_AT_ONCE, ...more });
}

const NEVER = ['as-client.reads-on'];
const OF_STREAMS = [
  'events.subscribe-first',
  'as-client.session',
  'as-client.early-event',
  'as-client.busy-stream',
  'as-client.pieces',
  'as-client.frames',
  'as-client.event-types',
  'as-client.comments',
  'as-client.gap',
  'as-client.resumes',
  'as-client.repeats',
  'as-client.cut-event',
];

/** It asks for no task, and opens its stream when it is read. */
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
  // The two that show how their task goes follow its own stream, which this gateway lacks: they poll.
  test.each([
    ['an example with the SDK', `sdk/examples/client.js ${ARGUMENTS}`, [...OF_STREAMS, ...NEVER]],
    ['task-gateway run', `sdk/bin/task-gateway.js ${RUN}`, [...OF_STREAMS, ...NEVER]],
    ['runTask of the SDK', 'test/conformance/running-client.ts', NEVER],
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
    'the SDK’s subscription alone loses no result, while there is a stream',
    async ({ expect: wants }) => {
      const run = await runCommand(`${NODE} ${join(import.meta.dirname, 'streaming-client.ts')}`, {
        limitMs: LIMIT_MS / 4,
        again: false,
      });
      const complaints = [...idsOf(run, 'fail'), ...idsOf(run, 'warn'), ...idsOf(run, 'error')];
      wants(complaints.toSorted()).toEqual(WITHOUT_POLLS);
      wants(idsOf(run, 'pass')).toEqual(
        expect.arrayContaining(OF_STREAMS.filter((id) => !WITHOUT_POLLS.includes(id))),
      );
    },
    LIMIT_MS,
  );
});

describe('the client of the page', () => {
  // Its command plays as many scenarios at once as the kit does by default: nothing else runs beside it.
  test('conforms, which is the SDK’s in Python', { tags: 'python-tools', timeout: LIMIT_MS }, async () => {
    const { promised, ...ran } = await runPage('--client', 'my_client.py', 'sdk/examples/python/client.py');
    expect(ran).toEqual({ code: 0, printed: promised });
  });
});

describe.concurrent('what is no client passes nothing', () => {
  test.each([
    ['a command that there is not', 'there-is-no-such-command'],
    ['one that ends', 'true'],
    ['one that prints a success', `echo '{"status":"success","result":{"output":"done"}}'`],
    ['one that does nothing', 'sleep 60'],
    ['one that does not listen to signals', "trap '' INT TERM; sleep 60"],
  ])('%s', async (_what, command) => {
    const startedMs = performance.now();
    const { counts, passed, applicable } = summarize((await runCommand(command, { limitMs: 500 })).verdicts);
    expect({ passed, pass: counts.pass, error: counts.error }).toEqual({ passed: 0, pass: 0, error: 0 });
    expect(applicable).toBe(counts.fail);
    expect(counts.fail).toBeGreaterThan(40);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  test('and a run that is ended counts neither for nor against it', async ({ expect: wants }) => {
    const signal = AbortSignal.timeout(300);
    const summary = summarize((await runCommand('sleep 60', { signal })).verdicts);
    wants([summary.counts.pass, summary.counts.fail, exitCodeOf(summary)]).toEqual([0, 0, 2]);
  });
});

describe('every requirement of clients', () => {
  const ours = REQUIREMENTS.filter(({ role }) => role === 'client');
  const checked = Object.keys(CLIENT_CHECKS).sort();

  test('has a check, or a reason why there is none, and never both', ({ expect: wants }) => {
    const scored = ours.filter(({ not_scored }) => not_scored === undefined).map(({ id }) => id);
    wants(checked).toEqual(scored.sort());
  });

  test('that is checked has a control', ({ expect: wants }) => {
    wants(Object.keys(CLIENT_CONTROLS).sort()).toEqual(checked);
  });

  test('stands in the documents as it is quoted', ({ expect: wants }) => {
    wants(findMisquoted(ours)).toEqual([]);
  });

  test(
    'a small one with a stream, and one that polls',
    async ({ expect: wants }) => {
      const run = await runScriptedClient();
      wants(complaintsOf(run)).toEqual([]);
      wants(idsOf(run, 'not_scored')).toEqual(NEVER);
      const polling = await runScriptedClient(undefined, true);
      wants(complaintsOf(polling)).toEqual([]);
      wants(idsOf(polling, 'not_scored').toSorted()).toEqual([...OF_STREAMS, ...NEVER].toSorted());
    },
    LIMIT_MS,
  );

  test(
    'is failed by its control',
    async ({ expect: wants }) => {
      const found = await tryClientControls(false);
      const missed = [...found].filter(([id, ids]) => !ids.includes(id)).map(([id]) => id);
      console.log(`figure: conformance-client-controls ${found.size}`);
      wants(missed).toEqual([]);
    },
    LIMIT_MS,
  );
});
