/**
 * The agent's role of the kit: agents that conform, subjects that are no agent, and the kit itself. Every
 * check has a control, and finds the fault that it plants.
 */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findFreePort } from '../harness/free-port.ts';
import { AGENT_CHECKS } from './agent-checks.ts';
import { AGENT_CONTROLS } from './agent-controls.ts';
import type { AgentRunOptions } from './agent-stage.ts';
import { describeRole } from './role.suite.ts';
import { runAgentChecks } from './run-agent-checks.ts';
import type { Run } from './run-checks.ts';
import { runScripted, tryAgentControls } from './scripted-runs.ts';
import { startsCommand } from './started-command.ts';
import { complaintsOf, idsOf, runPage } from './tested-runs.ts';

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
});

describe('a small agent', () => {
  // Its heartbeats are so frequent that no other process may run beside it.
  test('conforms with pushes, and with claims', { timeout: LIMIT_MS }, async () => {
    const runs = await Promise.all([runScripted(), runScripted(undefined, true)]);
    expect(runs.flatMap(complaintsOf)).toEqual([]);
  });
});

describeRole({
  role: 'agent',
  runCommand,
  checks: AGENT_CHECKS,
  controls: AGENT_CONTROLS,
  tryControls: () => tryAgentControls(false),
  others: ["trap '' TERM; sleep 60"],
  failMin: 25,
});
