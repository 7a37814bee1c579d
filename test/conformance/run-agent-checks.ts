/** Plays the scenarios with an agent, then runs the checks on what they saw; the verdicts. */
import { AGENT_CHECKS, type Look } from './agent-checks.ts';
import { type AgentRunOptions, createStage, type Stage } from './agent-stage.ts';
import { Finding } from './findings.ts';
import { REQUIREMENTS, type Requirement } from './requirements.ts';
import { describeEnd, type Run, type Verdict } from './run-checks.ts';
import { SCENARIOS, type ScenarioName } from './trials-of-agents.ts';

type Played = { readonly seen: unknown } | { readonly error: unknown };

/** Never rejects: what fails in the kit is a verdict too. */
export async function runAgentChecks(options: AgentRunOptions): Promise<Run> {
  const startedMs = performance.now();
  const { level, only = '', signal = new AbortController().signal } = options;
  const stage = createStage(options);
  const played = await play(stage);
  await stage.close().catch(() => {});
  const look: Look = (name) => {
    const one = played.get(name);
    if (!one) throw new Error(`The scenario "${name}" was not played.`);
    if ('error' in one) throw one.error;
    return one.seen as never;
  };
  const asked = REQUIREMENTS.filter(
    (one) => one.role === 'agent' && one.id.startsWith(only) && (level === undefined || one.level === level),
  );
  return {
    verdicts: asked.map((requirement) => check(requirement, stage, look, signal)),
    prefix: stage.prefix,
    subjectVersion: null,
    seconds: (performance.now() - startedMs) / 1_000,
  };
}

/** An agent that cannot begin has the same end in every scenario. */
async function play(stage: Stage): Promise<ReadonlyMap<ScenarioName, Played>> {
  const played = new Map<ScenarioName, Played>();
  const names = Object.keys(SCENARIOS) as ScenarioName[];
  let dead: Played | undefined;
  for (const name of names) {
    const one = dead ?? (await playOne(stage, name));
    played.set(name, one);
    if (name === 'begun' && 'error' in one) dead = one;
  }
  return played;
}

async function playOne(stage: Stage, name: ScenarioName): Promise<Played> {
  try {
    if (name === 'begun') await stage.gateway.listen();
    else await stage.begin();
    return { seen: await SCENARIOS[name](stage) };
  } catch (error) {
    // The next scenario is not to suffer from this one.
    if (error instanceof Finding) await stage.end().catch(() => {});
    return { error };
  } finally {
    stage.gateway.answer(undefined);
  }
}

function check(requirement: Requirement, stage: Stage, look: Look, signal: AbortSignal): Verdict {
  const run = AGENT_CHECKS[requirement.id];
  if (requirement.not_scored !== undefined || !run) {
    const detail = requirement.not_scored ?? 'No check looks at it.';
    return { requirement, outcome: 'not_scored', detail };
  }
  try {
    signal.throwIfAborted();
    run(stage, look);
    return { requirement, outcome: 'pass', detail: '' };
  } catch (error) {
    return { requirement, ...describeEnd(error, requirement, signal) };
  }
}
