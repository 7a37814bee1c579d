/** Runs the checks of the agent's role against a command, one after the other. */
import { AGENT_CHECKS } from './agent-checks.ts';
import { type AgentOptions, createAgentUnderTest } from './agent-under-test.ts';
import { REQUIREMENTS } from './requirements.ts';
import { describeEnd, type Run, type Verdict } from './run-checks.ts';

/** Never rejects: what fails in the kit is a verdict too. An agent that never registers fails everything. */
export async function runAgentChecks(
  options: AgentOptions & { readonly signal?: AbortSignal },
): Promise<Run> {
  const startedMs = performance.now();
  const { signal = new AbortController().signal } = options;
  const agent = createAgentUnderTest(options);
  signal.addEventListener('abort', () => agent.end());
  const verdicts: Verdict[] = [];
  let dead: unknown;
  try {
    await agent.start().catch((error: unknown) => {
      dead = error;
    });
    for (const requirement of REQUIREMENTS.filter(({ role, id }) => role === 'agent' && id in AGENT_CHECKS)) {
      try {
        if (dead !== undefined) throw dead;
        signal.throwIfAborted();
        await AGENT_CHECKS[requirement.id]?.(agent);
        verdicts.push({ requirement, outcome: 'pass', detail: '' });
      } catch (error) {
        verdicts.push({ requirement, ...describeEnd(error, requirement, signal) });
        // The others would wait in vain, each as long.
        if (agent.calls.length === 0) dead = error;
      }
    }
  } finally {
    await agent.close();
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  return { verdicts, prefix: agent.auth, subjectVersion: null, seconds };
}
