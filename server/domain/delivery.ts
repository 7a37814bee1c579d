/**
 * The rules of delivery: when an attempt is repeated, and when a task may move to another agent. Pure; the
 * dispatcher acts on them.
 */
import type { Delivery } from './task.ts';
import { mayBeTaken } from './task.ts';

/** After a busy response other agents are offered this task first, for so long. */
export const BUSY_REST_MS = 30_000;
/** A connection without a response stays open for so long; no second push runs beside it. */
export const PUSH_OPEN_MAX_MS = 300_000;
/** A claimed assignment that was not acknowledged is handed out again after so long. */
export const HAND_OUT_AGAIN_MS = 15_000;
/** An assignment that its pull agent does not claim for so long counts as not taken. */
export const UNCLAIMED_MS = 10_000;
/**
 * A task that may have been taken moves only after its agent has been unavailable for so long: then it is
 * gone.
 */
export const GONE_AFTER_MS = 90_000;

const MOVE_AFTER_ATTEMPTS = 3;
const MOVE_AFTER_MS = 10_000;
const RETRY_MAX_MS = 30_000;

/**
 * The pause after the n-th attempt: 1, 2, 4 … 30 s, with a jitter of ±20 % from `random` in [0, 1). A longer
 * Retry-After of the agent is honoured up to five minutes.
 */
export function retryAfterMs(attempts: number, random: number, askedMs: number | null): number {
  const plainMs = Math.min(RETRY_MAX_MS, 1_000 * 2 ** Math.min(attempts - 1, 5));
  const jitteredMs = Math.round(plainMs * (0.8 + 0.4 * random));
  return askedMs === null ? jitteredMs : Math.max(jitteredMs, Math.min(askedMs, PUSH_OPEN_MAX_MS));
}

/** The availability of a task's present agent. */
export type AgentAvailability = {
  /** Since when it is offline or unregistered; null while it is neither; 0 when it has no record. */
  readonly unavailableSinceMs: number | null;
  readonly pull: boolean;
};

/**
 * Whether the task should move to another agent if one is eligible. Once an attempt is unknown, only an agent
 * that is gone loses the task. A task that was certainly not taken moves at once from an agent that is
 * offline, unregistered or answered busy, and else after three attempts and ten seconds (a pull agent: after
 * ten seconds unclaimed).
 */
export function wantsToMove(
  delivery: Delivery,
  agent_id: string,
  agent: AgentAvailability,
  nowMs: number,
): boolean {
  if (delivery.acknowledged) return false;
  if (mayBeTaken(delivery)) return isGone(agent, nowMs);
  if (agent.unavailableSinceMs !== null) return true;
  if (delivery.busy.some((busy) => busy.agent_id === agent_id && busy.untilMs > nowMs)) return true;
  const ageMs = nowMs - delivery.assignedMs;
  return agent.pull
    ? ageMs >= UNCLAIMED_MS
    : delivery.attempts >= MOVE_AFTER_ATTEMPTS && ageMs >= MOVE_AFTER_MS;
}

/** Whether the agent is gone: unavailable for so long that a task it may have taken moves. */
export function isGone(agent: AgentAvailability, nowMs: number): boolean {
  return agent.unavailableSinceMs !== null && nowMs - agent.unavailableSinceMs >= GONE_AFTER_MS;
}
