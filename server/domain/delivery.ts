/**
 * The rules of delivery: when an attempt is repeated, and when a task may move to another agent. Pure. The
 * dispatcher follows these rules.
 */
import { type AgentRecord, PULL_ENDPOINT, unavailableSinceMs } from './agent.ts';
import type { Delivery, TaskState } from './task.ts';
import { isSettled, mayBeTaken } from './task.ts';

/** After an agent's busy response, the task is offered to other agents first for this long. */
export const BUSY_REST_MS = 30_000;
/** An agent has this long to respond to a push, because it may respond only after the work is done. */
export const PUSH_RESPONSE_WITHIN_MS = 300_000;
/** The longest Retry-After of an agent that is honoured. */
const RETRY_AFTER_MAX_MS = 300_000;
/** After this long without an acknowledgement, a claimed task is handed out to a claim again. */
export const HAND_OUT_AGAIN_MS = 15_000;
/** After this long without a claim of its pull agent, a task counts as not taken. */
export const UNCLAIMED_MS = 10_000;
/**
 * After being unavailable for this long, an agent is gone. Only then do tasks move that it may have taken.
 */
export const GONE_AFTER_MS = 90_000;

const MOVE_AFTER_ATTEMPTS = 3;
const MOVE_AFTER_MS = 10_000;
const RETRY_MAX_MS = 30_000;

/**
 * The pause after the n-th attempt: 1, 2, 4 … 30 s, with a jitter of ±25 % from `random` in [0, 1). A longer
 * Retry-After of the agent is honoured up to five minutes.
 */
export function retryPauseMs(attempts: number, random: number, askedMs: number | null): number {
  const plainMs = Math.min(RETRY_MAX_MS, 1_000 * 2 ** Math.min(attempts - 1, 5));
  const jitteredMs = Math.round(plainMs * (0.75 + 0.5 * random));
  return askedMs === null ? jitteredMs : Math.max(jitteredMs, Math.min(askedMs, RETRY_AFTER_MAX_MS));
}

/** Whether the present agent of a task is available, and whether it pulls. */
export type AgentAvailability = {
  /**
   * Since when the agent is offline or unregistered, at the earliest since sweeping resumed; null while it is
   * neither; 0 when it has no record.
   */
  readonly unavailableSinceMs: number | null;
  readonly pull: boolean;
};

/** `resumedMs` is the time at which sweeping resumed. */
export function availabilityOf(record: AgentRecord | undefined, resumedMs: number): AgentAvailability {
  if (!record) return { unavailableSinceMs: 0, pull: false };
  return {
    unavailableSinceMs: unavailableSinceMs(record, resumedMs),
    pull: record.endpoint === PULL_ENDPOINT,
  };
}

/**
 * Whether the task should move to another agent if one is eligible. If the present agent may have the task
 * (an attempt is unknown), the task moves only when the agent is gone. If the agent certainly does not have
 * the task, it moves at once when the agent is offline or unregistered, after 10 s without a claim when the
 * agent pulls, and otherwise from `movableFromMs()` on.
 *
 * For example, if an offline agent refused the connection, the task moves at once. If the connection broke
 * after the request was sent, the task moves when the agent has been offline for 90 s.
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
  if (agent.pull) return isUnclaimed(delivery, nowMs);
  const fromMs = movableFromMs(delivery, agent_id);
  return fromMs !== null && fromMs <= nowMs;
}

/**
 * Whether a pull agent has not claimed the task for 10 s. The 10 s begin again when the agent disowns the
 * task.
 */
export function isUnclaimed(delivery: Delivery, nowMs: number): boolean {
  const sinceMs = delivery.disownedMs ?? delivery.assignedMs;
  return !mayBeTaken(delivery) && nowMs - sinceMs >= UNCLAIMED_MS;
}

/**
 * From when on a task may leave an agent that is online and gets pushes, but certainly did not take the task:
 * at once if the agent's last response was busy, otherwise after three attempts and 10 s. Null: not before
 * another attempt.
 */
function movableFromMs(delivery: Delivery, agent_id: string): number | null {
  if (delivery.acknowledged || mayBeTaken(delivery)) return null;
  // Each outcome overwrites the agent's entry. So an entry means that the agent's last response was busy.
  if (delivery.busy.some((busy) => busy.agent_id === agent_id)) return delivery.assignedMs;
  return delivery.attempts >= MOVE_AFTER_ATTEMPTS ? delivery.assignedMs + MOVE_AFTER_MS : null;
}

export function isGone(agent: AgentAvailability, nowMs: number): boolean {
  return agent.unavailableSinceMs !== null && nowMs - agent.unavailableSinceMs >= GONE_AFTER_MS;
}

/**
 * The agents to which this task is not offered now: its present agent, and agents that lately responded busy
 * to it.
 */
export function excludedAgents({ busy }: Delivery, agent_id: string, nowMs: number): ReadonlySet<string> {
  return new Set([agent_id, ...busy.filter(({ untilMs }) => untilMs > nowMs).map((agent) => agent.agent_id)]);
}

/**
 * When the task may be offered again to one of the other agents that responded busy; `Infinity` if none did.
 */
export function endOfRestMs({ busy }: Delivery, agent_id: string, nowMs: number): number {
  return Math.min(
    ...busy.flatMap((one) => (one.agent_id !== agent_id && one.untilMs > nowMs ? [one.untilMs] : [])),
  );
}

/**
 * From when on a claim of the task's agent may hand the task out: 0 before the first claim of the task, then
 * 15 s after the last. Null when no claim may, because the task is pushed, acknowledged or not running. The
 * engines index this time.
 */
export function claimableFromMs({ status, delivery }: TaskState): number | null {
  if (status !== 'running' || !delivery?.pull || delivery.acknowledged) return null;
  return delivery.attemptMs === null ? 0 : delivery.attemptMs + HAND_OUT_AGAIN_MS;
}

/**
 * When an open task is due next: at the earliest of its deadline, its queue end, its next attempt, and the
 * time from which it may leave its agent (until it waits for another). Null when the task is settled.
 */
export function dueMs(state: TaskState): number | null {
  if (isSettled(state)) return null;
  const { delivery } = state;
  const times = [state.deadlineMs];
  if (state.status === 'pending' && state.queueEndMs !== null) times.push(state.queueEndMs);
  if (delivery && delivery.nextMs !== null) times.push(delivery.nextMs);
  const movableMs = delivery && !state.waiting ? movableFromMs(delivery, state.agent_id ?? '') : null;
  if (movableMs !== null) times.push(movableMs);
  return Math.min(...times);
}
