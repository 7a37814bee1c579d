/**
 * The agent's role of the kit: agents that conform, what is no agent, and the kit itself: every check has a
 * control, and finds the fault that it plants.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findFreePort } from '../harness/free-port.ts';
import { readBlocks } from '../harness/readme-blocks.ts';
import { AGENT_CHECKS } from './agent-checks.ts';
import { runScripted, tryAgentControls } from './agent-control-table.ts';
import { AGENT_CONTROLS } from './agent-controls.ts';
import type { AgentRunOptions } from './agent-stage.ts';
import { REQUIREMENTS } from './requirements.ts';
import { runAgentChecks } from './run-agent-checks.ts';
import type { Run } from './run-checks.ts';
import { startsCommand } from './started-agent.ts';
import { exitCodeOf, summarize } from './verdicts.ts';

const ROOT = join(import.meta.dirname, '../..');
const NODE = process.execPath;
const EXEC = `${NODE} ${join(ROOT, 'sdk/bin/task-gateway.js')} agent exec --tag x --max 2`;
const LIMIT_MS = 120_000;
const blocks = readBlocks(readFileSync(join(import.meta.dirname, 'README.md'), 'utf8'));
const PROGRAM = "-- sh -c 'sleep 1.5; echo done'";

function runCommand(command: string, more: Partial<AgentRunOptions> = {}): Promise<Run> {
  return runAgentChecks({ starter: startsCommand(command), ...more });
}

/** Those that are no pass and are scored, each with what was found. */
function complaintsOf({ verdicts }: Run): readonly string[] {
  return verdicts
    .filter(({ outcome }) => outcome !== 'pass' && outcome !== 'not_scored')
    .map(({ requirement, outcome, detail }) => `${outcome} ${requirement.id}: ${detail}`);
}

function idsOf({ verdicts }: Run, outcome: string): readonly string[] {
  return verdicts.filter((one) => one.outcome === outcome).map(({ requirement }) => requirement.id);
}

const OF_PUSHES = ['as-agent.busy', 'as-agent.signature', 'as-agent.timestamp', 'as-agent.one-matches'];
const NEVER = ['as-agent.constant-time'];

describe.concurrent('an agent that conforms', () => {
  test(
    'task-gateway agent exec, which claims its tasks with the SDK',
    async ({ expect: wants }) => {
      const run = await runCommand(`${EXEC} ${PROGRAM}`);
      wants(complaintsOf(run)).toEqual([]);
      wants(idsOf(run, 'not_scored')).toEqual([...OF_PUSHES, ...NEVER]);
    },
    LIMIT_MS,
  );

  test(
    'the same with pushes',
    async ({ expect: wants }) => {
      const run = await runCommand(`${EXEC} --listen 127.0.0.1:${await findFreePort()} ${PROGRAM}`);
      wants(complaintsOf(run)).toEqual([]);
      wants(idsOf(run, 'not_scored')).toEqual(['as-agent.claims-again', ...NEVER]);
    },
    LIMIT_MS,
  );

  test(
    'an agent of the SDK, which claims its tasks',
    async ({ expect: wants }) => {
      const run = await runCommand(`${NODE} ${join(ROOT, 'sdk/examples/pull-agent.js')}`);
      wants(complaintsOf(run)).toEqual([]);
      wants(idsOf(run, 'not_scored')).toEqual([...OF_PUSHES, ...NEVER]);
    },
    LIMIT_MS,
  );

  test('the one of the page, which is the SDK’s in Python', { tags: 'python', timeout: LIMIT_MS }, async ({
    expect: wants,
  }) => {
    const { code, stdout } = await runPage('python3', join(ROOT, 'sdk/examples/python/agent.py'));
    const promised = blocks.findLast(({ language }) => language === 'text')?.text;
    wants({ code, printed: stdout.split('\n\n').at(-1) }).toEqual({ code: 0, printed: promised });
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
    const names = ['clients-and-agents.3.1.json', 'agent.3.1.json'];
    const published = names
      .map((name) => plain(readFileSync(join(ROOT, 'generated/openapi', name), 'utf8')))
      .join();
    const quoted = ours.filter(({ document }) => document === 'guide');
    wants(quoted.filter(({ text }) => !published.includes(plain(text))).map(({ id }) => id)).toEqual([]);
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

/** The words of a text, whatever stands between them in a table or in JSON. */
function plain(text: string): string {
  return (text.replaceAll(/\\[nrt]/g, ' ').match(/[\p{L}\p{N}_]+/gu) ?? []).join(' ');
}

/** Runs the command of the page for an agent, with another program and file than it names. */
function runPage(program: string, file: string): Promise<{ code: number; stdout: string }> {
  const text = blocks.find((block) => block.text.includes('--agent '))?.text ?? '';
  const command = text.replace('python3 my_agent.py', `${program} ${file}`);
  const npx = `npx() { shift; ${NODE} ${join(import.meta.dirname, 'bin/task-gateway-conformance.js')} "$@"; }`;
  return new Promise((resolve) => {
    execFile('bash', ['--norc', '-c', `${npx}\n${command}`], (error, stdout) => {
      resolve({ code: Number(error?.code ?? 0), stdout });
    });
  });
}
