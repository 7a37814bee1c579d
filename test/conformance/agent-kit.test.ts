/**
 * The agent's role of the kit: agents that conform, what is no agent, and the kit itself: every check has a
 * control, and finds the fault that it plants.
 */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findFreePort } from '../harness/free-port.ts';
import { AGENT_CHECKS } from './agent-checks.ts';
import { AGENT_CONTROLS } from './agent-controls.ts';
import type { AgentRunOptions } from './agent-stage.ts';
import { REQUIREMENTS } from './requirements.ts';
import { runAgentChecks } from './run-agent-checks.ts';
import type { Run } from './run-checks.ts';
import { runScripted, tryAgentControls } from './scripted-runs.ts';
import { startsCommand } from './started-command.ts';
import { complaintsOf, findMisquoted, idsOf, runPage } from './tested-runs.ts';
import { exitCodeOf, summarize } from './verdicts.ts';

const ROOT = join(import.meta.dirname, '../..');
const NODE = process.execPath;
const EXEC = `${NODE} ${join(ROOT, 'sdk/bin/task-gateway.js')} agent exec --tag x --max 2`;
const LIMIT_MS = 600_000;
const PROGRAM = "-- sh -c 'sleep 1.5; echo done'";

function runCommand(command: string, more: Partial<AgentRunOptions> = {}): Promise<Run> {
  return runAgentChecks({ starter: startsCommand(command), ...more });
}

const OF_PUSHES = [
  'as-agent.busy',
  'as-agent.repeated-push',
  'as-agent.signature',
  'as-agent.timestamp',
  'as-agent.one-matches',
];
/** No agent here asks a question. */
const NEVER = ['as-agent.constant-time', 'as-agent.claims-answer'];
const OF_WRITERS = ['as-agent.writes', 'as-agent.writes-again'];

describe.concurrent('an agent that conforms', () => {
  test(
    'task-gateway agent exec, which claims its tasks with the SDK',
    async ({ expect: wants }) => {
      const run = await runCommand(`${EXEC} ${PROGRAM}`);
      wants(complaintsOf(run)).toEqual([]);
      wants(idsOf(run, 'not_scored').toSorted()).toEqual([...OF_PUSHES, ...NEVER, ...OF_WRITERS].toSorted());
    },
    LIMIT_MS,
  );

  test(
    'the same with pushes',
    async ({ expect: wants }) => {
      const run = await runCommand(`${EXEC} --listen 127.0.0.1:${await findFreePort()} ${PROGRAM}`);
      wants(complaintsOf(run)).toEqual([]);
      wants(idsOf(run, 'not_scored').toSorted()).toEqual(
        ['as-agent.claims-again', ...NEVER, ...OF_WRITERS].toSorted(),
      );
    },
    LIMIT_MS,
  );

  test(
    'an agent of the SDK, which claims its tasks',
    async ({ expect: wants }) => {
      const run = await runCommand(`${NODE} ${join(ROOT, 'sdk/examples/pull-agent.js')}`);
      wants(complaintsOf(run)).toEqual([]);
      wants(idsOf(run, 'not_scored').toSorted()).toEqual([...OF_PUSHES, ...NEVER, ...OF_WRITERS].toSorted());
    },
    LIMIT_MS,
  );

  test('the one of the page, which is the SDK’s in Python', {
    tags: 'python-tools',
    timeout: LIMIT_MS,
  }, async ({ expect: wants }) => {
    const { promised, ...ran } = await runPage('--agent', 'my_agent.py', 'sdk/examples/python/agent.py');
    wants(ran).toEqual({ code: 0, printed: promised });
  });

  test(
    'a small one with pushes, and with claims',
    async ({ expect: wants }) => {
      wants(complaintsOf(await runScripted())).toEqual([]);
      wants(complaintsOf(await runScripted(undefined, true))).toEqual([]);
    },
    LIMIT_MS,
  );
});

describe.concurrent('what is no agent passes nothing', () => {
  test.each([
    ['a command that there is not', 'there-is-no-such-command'],
    ['one that ends', 'true'],
    ['one that does nothing', 'sleep 60'],
    ['one that does not listen to SIGTERM', "trap '' TERM; sleep 60"],
  ])('%s', async (_what, command) => {
    const startedMs = performance.now();
    const { counts, passed, applicable } = summarize((await runCommand(command, { limitMs: 500 })).verdicts);
    expect({ passed, pass: counts.pass, error: counts.error }).toEqual({ passed: 0, pass: 0, error: 0 });
    expect(applicable).toBe(counts.fail);
    expect(counts.fail).toBeGreaterThan(25);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  test('and a run that is ended counts neither for nor against it', async ({ expect: wants }) => {
    const signal = AbortSignal.timeout(300);
    const summary = summarize((await runCommand('sleep 60', { signal })).verdicts);
    wants([summary.counts.pass, summary.counts.fail, exitCodeOf(summary)]).toEqual([0, 0, 2]);
  });
});

describe.concurrent('every requirement of agents', () => {
  const ours = REQUIREMENTS.filter(({ role }) => role === 'agent');
  const checked = Object.keys(AGENT_CHECKS).sort();

  test('has a check, or a reason why there is none, and never both', ({ expect: wants }) => {
    const scored = ours.filter(({ not_scored }) => not_scored === undefined).map(({ id }) => id);
    wants(checked).toEqual(scored.sort());
  });

  test('that is checked has a control', ({ expect: wants }) => {
    wants(Object.keys(AGENT_CONTROLS).sort()).toEqual(checked);
  });

  test('stands in the documents as it is quoted', ({ expect: wants }) => {
    wants(findMisquoted(ours)).toEqual([]);
  });

  test(
    'is failed by its control',
    async ({ expect: wants }) => {
      const found = await tryAgentControls();
      const missed = [...found].filter(([id, ids]) => !ids.includes(id)).map(([id]) => id);
      console.log(`figure: conformance-agent-controls ${found.size}`);
      wants(missed).toEqual([]);
    },
    LIMIT_MS,
  );
});
