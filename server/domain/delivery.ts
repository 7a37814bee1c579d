/**
 * The arithmetic of delivery: when an attempt is repeated, when a task may move to another agent.
 * Pure; the dispatcher acts on it.
 */
import type { Delivery } from './task.ts';
import { mayBeTaken } from './task.ts';

/** After a busy answer the agent is not asked again for this task for so long. */
export const BUSY_REST_MS = 30_000;
/** A connection without an answer is left open for so long; no second push runs beside it. */
export const PUSH_OPEN_MAX_MS = 300_000;
/** A claimed assignment that was not acknowledged is handed out again after so long. */
export const HAND_OUT_AGAIN_MS = 15_000;
/** An assignment no pull agent claims for so long is "not taken". */
export const UNCLAIMED_MS = 10_000;
/** What may have been taken moves only when its agent has been gone for so long. */
export const GONE_AFTER_MS = 90_000;

const MOVE_AFTER_ATTEMPTS = 3;
const MOVE_AFTER_MS = 10_000;
const RETRY_MAX_MS = 30_000;

/**
 * The pause after the n-th attempt: 1, 2, 4 … 30 s, with jitter of ±20 % drawn from `chance` in [0, 1).
 * An agent's Retry-After is honoured where it asks for longer, up to five minutes.
 */
export function retryAfterMs(attempts: number, random: number, askedMs: number | null): number {
  const plainMs = Math.min(RETRY_MAX_MS, 1_000 * 2 ** Math.min(attempts - 1, 5));
  const jitteredMs = Math.round(plainMs * (0.8 + 0.4 * random));
  return askedMs === null ? jitteredMs : Math.max(jitteredMs, Math.min(askedMs, PUSH_OPEN_MAX_MS));
}

/** What is known of the present agent when a delivery is looked at. */
export type AgentAvailability = {
  /** Since when it is offline or unregistered; null while it is there; 0 when it has no record at all. */
  readonly unavailableSinceMs: number | null;
  readonly pull: boolean;
};

/**
 * Whether the task should move to another agent if one is eligible. Once an attempt is unknown only an agent that
 * has been gone for 90 s loses the task; what was never taken moves at once from an agent that left or answered
 * busy, and otherwise after three attempts and ten seconds (a pull agent: after ten seconds unclaimed).
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
  if (delivery.busy.some((one) => one.agent_id === agent_id && one.untilMs > nowMs)) return true;
  const ageMs = nowMs - delivery.assignedMs;
  return agent.pull
    ? ageMs >= UNCLAIMED_MS
    : delivery.attempts >= MOVE_AFTER_ATTEMPTS && ageMs >= MOVE_AFTER_MS;
}

/** Whether the agent has been gone for so long that what it may have taken moves. */
export function isGone(agent: AgentAvailability, nowMs: number): boolean {
  return agent.unavailableSinceMs !== null && nowMs - agent.unavailableSinceMs >= GONE_AFTER_MS;
}
