/** Tries every control of the agent's role, each in an agent that does all that is required. */
import { AGENT_CONTROLS } from './agent-controls.ts';
import { type Plant, startsScripted } from './faultless-agent.ts';
import { runAgentChecks } from './run-agent-checks.ts';
import type { Run } from './run-checks.ts';

/** The agent works no longer than a few heartbeats, so that a control takes some seconds. */
const WORK_MS = 400;
const LIMIT_MS = 2_500;
const QUIET_MS = 300;
const HEARTBEAT_SECONDS = 0.12;
/** They wait more than they work. */
const CONTROLS_AT_ONCE = 35;

/** Runs all scenarios and checks with a fault; of an agent without one, leave it out. */
export function runScripted(plant: Plant = () => ({}), isPull = false): Promise<Run> {
  return runAgentChecks({
    starter: startsScripted(plant, { isPull, workMs: WORK_MS }),
    limitMs: LIMIT_MS,
    quietMs: QUIET_MS,
    heartbeatSeconds: HEARTBEAT_SECONDS,
  });
}

/** The checks that found a fault, by the requirement whose control planted it. */
export async function tryAgentControls(): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  const waiting = Object.entries(AGENT_CONTROLS);
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [id, { plant, isPull }] = next;
      const { verdicts } = await runScripted(plant, isPull);
      const [broken] = verdicts.filter(({ outcome }) => outcome === 'error');
      if (broken) throw new Error(`${id}: ${broken.requirement.id}: ${broken.detail}`);
      const complained = verdicts.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn');
      found.set(
        id,
        complained.map(({ requirement }) => requirement.id),
      );
    }
  };
  await Promise.all(Array.from({ length: CONTROLS_AT_ONCE }, work));
  return new Map(Object.keys(AGENT_CONTROLS).map((id) => [id, found.get(id) ?? []]));
}
