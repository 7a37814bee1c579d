/** Plays the scenarios with an agent, then runs the checks on what they saw; the verdicts. */
import { AGENT_CHECKS } from './agent-checks.ts';
import { type AgentRunOptions, createStage, type Stage } from './agent-stage.ts';
import type { Exchange } from './exchanges.ts';
import { Finding } from './findings.ts';
import { chooseRequirements, giveVerdict, isComplaint, joinRuns, type Run } from './run-checks.ts';
import { type Look, SCENARIOS, type ScenarioName } from './trials-of-agents.ts';

type Played = ({ readonly seen: unknown } | { readonly error: unknown }) & {
  readonly exchanges: readonly Exchange[];
};

/** Never rejects: what fails in the kit is a verdict too. */
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
  const stage = createStage(options);
  const played = await play(stage);
  await stage.close().catch(() => {});
  const lookFor =
    (looked: Set<Exchange>): Look =>
    (name) => {
      const one = played.get(name);
      if (!one) throw new Error(`The scenario "${name}" was not played.`);
      for (const exchange of one.exchanges) looked.add(exchange);
      if ('error' in one) throw one.error;
      return one.seen as never;
    };
  const verdicts = chooseRequirements('agent', options).map((requirement) => {
    const check = AGENT_CHECKS[requirement.id];
    const looked = new Set<Exchange>();
    const run = check && (() => check(stage, lookFor(looked)));
    return giveVerdict(requirement, run, signal, () => [...looked]);
  });
  return {
    verdicts: await Promise.all(verdicts),
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
  const { gateway } = stage;
  const from = gateway.exchanges.length;
  try {
    if (name === 'begun') await gateway.listen();
    else await stage.begin();
    const seen = await SCENARIOS[name](stage);
    return { seen, exchanges: gateway.exchanges.slice(from) };
  } catch (error) {
    const exchanges = gateway.exchanges.slice(from);
    // The next scenario is not to suffer from this one.
    if (error instanceof Finding) await stage.end().catch(() => {});
    return { error, exchanges };
  } finally {
    gateway.answer(undefined);
  }
}
