/**
 * Runs the kit on an agent and on a client that do all that is required of them, without a fault and with
 * each fault of the controls.
 */
import { AGENT_CONTROLS } from './agent-controls.ts';
import { CLIENT_CONTROLS } from './client-controls.ts';
import { type Plant, startsScripted } from './faultless-agent.ts';
import { type ClientPlant, startsScriptedClient } from './faultless-client.ts';
import { runAgentChecks } from './run-agent-checks.ts';
import { type Run, workThrough } from './run-checks.ts';
import { runClientChecks } from './run-client-checks.ts';

/** The agent works only for a few heartbeats, so that a control takes some seconds. */
const WORK_MS = 400;
const LIMIT_MS = 2_500;
const QUIET_MS = 300;
const HEARTBEAT_SECONDS = 0.12;
/** They wait more than they work. */
const CONTROLS_AT_ONCE = 12;
/** Each of them plays all scenarios that its checks look at, at the same time. */
const CLIENT_CONTROLS_AT_ONCE = 12;
const CLIENT_LIMIT_MS = 12_000;
const CLIENT_LONG_MS = 600;
const TRIALS_AT_ONCE = 20;

/** The checks that found a fault, by the requirement whose control planted it. */
export type Found = ReadonlyMap<string, readonly string[]>;

/** Runs the checks whose ids begin so on the agent, with a fault if one is given. */
export function runScripted(plant: Plant = () => ({}), isPull = false, only = ''): Promise<Run> {
  return runAgentChecks({
    only,
    again: false,
    starter: startsScripted(plant, { isPull, workMs: WORK_MS }),
    limitMs: LIMIT_MS,
    quietMs: QUIET_MS,
    heartbeatSeconds: HEARTBEAT_SECONDS,
  });
}

/** Does the same on the client. */
export function runScriptedClient(
  plant: ClientPlant = () => ({}),
  isPolling = false,
  only = '',
): Promise<Run> {
  return runClientChecks({
    only,
    again: false,
    starter: startsScriptedClient(plant, isPolling),
    limitMs: CLIENT_LIMIT_MS,
    longMs: CLIENT_LONG_MS,
    trialsAtOnce: TRIALS_AT_ONCE,
  });
}

/** Tries every control of the agent's role: with all checks, or its own and the scenarios it needs. */
export function tryAgentControls(withAll: boolean): Promise<Found> {
  return tryEach(AGENT_CONTROLS, CONTROLS_AT_ONCE, ({ plant, isPull }, id) =>
    runScripted(plant, isPull, withAll ? '' : id),
  );
}

/** Does the same with the client's role. */
export function tryClientControls(withAll: boolean): Promise<Found> {
  return tryEach(CLIENT_CONTROLS, CLIENT_CONTROLS_AT_ONCE, ({ plant, isPolling }, id) =>
    runScriptedClient(plant, isPolling, withAll ? '' : id),
  );
}

/** Tries each control. A fault that was not found is tried once more alone: the machine may be slow. */
async function tryEach<Control>(
  controls: Readonly<Record<string, Control>>,
  atOnce: number,
  run: (control: Control, id: string) => Promise<Run>,
): Promise<Found> {
  const found = new Map<string, readonly string[]>();
  const broken = new Map<string, string>();
  const tryOne = async ([id, control]: readonly [string, Control]): Promise<void> => {
    const { verdicts } = await run(control, id);
    const error = verdicts.find(({ outcome }) => outcome === 'error');
    if (error) broken.set(id, `${error.requirement.id}: ${error.detail}`);
    else broken.delete(id);
    const complained = verdicts.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn');
    found.set(
      id,
      complained.map(({ requirement }) => requirement.id),
    );
  };
  const all = Object.entries(controls);
  await workThrough(all, atOnce, tryOne);
  await workThrough(
    all.filter(([id]) => broken.has(id) || !found.get(id)?.includes(id)),
    1,
    tryOne,
  );
  for (const [id, error] of broken) throw new Error(`${id}: ${error}`);
  return new Map(Object.keys(controls).map((id) => [id, found.get(id) ?? []]));
}
