/** Plays the scenarios with an agent, runs the checks on what they saw, and returns the verdicts. */
import { AGENT_CHECKS } from './agent-checks.ts';
import { type AgentRunOptions, createStage, type Stage } from './agent-stage.ts';
import type { Exchange } from './exchanges.ts';
import { Finding } from './findings.ts';
import { createLook, type LookAt, type Played, playLooked } from './looked-scenarios.ts';
import { chooseRequirements, giveVerdict, isComplaint, joinRuns, type Run } from './run-checks.ts';
import { type Look, SCENARIO_NAMES, SCENARIOS, type ScenarioName } from './trials-of-agents.ts';

/** Never rejects: a failure of the kit is a verdict too. */
export async function runAgentChecks(options: AgentRunOptions): Promise<Run> {
  const { again = true, signal, starter } = options;
  const run = await runOnce(options);
  const isWorth = run.verdicts.some(isComplaint) && run.verdicts.some(({ outcome }) => outcome === 'pass');
  if (!again || !isWorth || signal?.aborted || !starter.isCommand) return run;
  return joinRuns(run, await runOnce(options));
}

async function runOnce(options: AgentRunOptions): Promise<Run> {
  const startedMs = performance.now();
  const { signal = new AbortController().signal } = options;
  const asked = chooseRequirements('agent', options);
  const stage = createStage(options);
  const played = new Map<ScenarioName, Played>();
  const check = (id: string, look: LookAt<ScenarioName>): void => AGENT_CHECKS[id]?.(stage, look as Look);
  const begun = await playOne(stage, 'begun');
  played.set('begun', begun);
  await playLooked(asked, played, check, async (wanted) => {
    // An agent that cannot begin ends in the same way in every scenario.
    for (const name of SCENARIO_NAMES.filter((one) => wanted.includes(one)))
      played.set(name, 'error' in begun ? begun : await playOne(stage, name));
  });
  await stage.close().catch(() => {});
  const verdicts = asked.map((requirement) => {
    const looked = new Set<Exchange>();
    const run = AGENT_CHECKS[requirement.id] && (() => check(requirement.id, createLook(played, looked)));
    return giveVerdict(requirement, run, signal, () => [...looked]);
  });
  return {
    verdicts: await Promise.all(verdicts),
    prefix: stage.prefix,
    subjectVersion: null,
    seconds: (performance.now() - startedMs) / 1_000,
  };
}

async function playOne(stage: Stage, name: ScenarioName): Promise<Played> {
  const { gateway } = stage;
  const from = gateway.exchanges.length;
  try {
    if (name === 'begun') await gateway.listen();
    else await stage.begin();
    const seen = await SCENARIOS[name](stage);
    return { seen, exchanges: gateway.exchanges.slice(from) };
  } catch (error) {
    const exchanges = gateway.exchanges.slice(from);
    // The next scenario must not suffer from this one.
    if (error instanceof Finding) await stage.end().catch(() => {});
    return { error, exchanges };
  } finally {
    await stage.clear().catch(() => {});
  }
}
