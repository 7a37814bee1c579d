/** The agent's role of the kit: on our agents, and on one that breaks each requirement in turn. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AGENT_CHECKS } from './agent-checks.ts';
import { REQUIREMENTS } from './requirements.ts';
import { runAgentChecks } from './run-agent-checks.ts';
import { summarize } from './verdicts.ts';

const ROOT = join(import.meta.dirname, '../..');
const CONTROLLED = `${process.execPath} ${join(import.meta.dirname, 'controlled-agent.ts')}`;

async function complaintsOf(command: string, env: Readonly<Record<string, string>> = {}, limitMs = 10_000) {
  const { verdicts } = await runAgentChecks({ command, env, limitMs });
  const { passed, applicable } = summarize(verdicts);
  const found = verdicts.filter(({ outcome }) => outcome !== 'pass' && outcome !== 'not_scored');
  return {
    passed,
    applicable,
    found: found.map(({ requirement, outcome, detail }) => `${outcome} ${requirement.id}: ${detail}`),
  };
}

describe('an agent that conforms', () => {
  test('the small one of the controls', async () => {
    expect(await complaintsOf(CONTROLLED)).toEqual({ passed: 10, applicable: 10, found: [] });
  }, 60_000);

  test.each([
    ['that is pushed to, of the SDK', `${process.execPath} ${join(ROOT, 'sdk/examples/push-agent.js')}`, 10],
    ['that claims, of the SDK', `${process.execPath} ${join(ROOT, 'sdk/examples/pull-agent.js')}`, 7],
  ])(
    'an example %s',
    async (_what, command, applicable) => {
      const result = await complaintsOf(command, { PORT: '0' });
      console.log(`figure: conformance-agent-must ${result.passed} of ${result.applicable}`);
      expect(result).toEqual({ passed: applicable, applicable, found: [] });
    },
    60_000,
  );

  test('the example in Python', { tags: 'python', timeout: 60_000 }, async () => {
    const result = await complaintsOf(`python3 ${join(ROOT, 'sdk/examples/python/agent.py')}`);
    expect(result).toEqual({ passed: 7, applicable: 7, found: [] });
  });
});

describe('each requirement of an agent', () => {
  const ids = Object.keys(AGENT_CHECKS);

  test('has a check', () => {
    const required = REQUIREMENTS.filter(({ role, document }) => role === 'agent' && document === 'guide');
    expect(required.map(({ id }) => id)).toEqual(ids);
  });

  test.each(ids)(
    'is failed by its control: %s',
    async (id) => {
      const { found } = await complaintsOf(CONTROLLED, { FAULT: id }, 2_500);
      expect(found.map((text) => text.replace(/:.*/s, ''))).toContain(`fail ${id}`);
    },
    60_000,
  );

  test.each(['true', 'sleep 60', 'no-such-command'])(
    'is failed by what is no agent: %s',
    async (command) => {
      const { passed, applicable } = await complaintsOf(command, {}, 1_000);
      expect({ passed, applicable }).toEqual({ passed: 0, applicable: ids.length });
    },
    60_000,
  );
});
