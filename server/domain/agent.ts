/**
 * An agent as the gateway keeps it, and what follows from its record: its state, its load, how many slots it
 * may hold. The store keeps slots, contact and push statistics apart from the record, because they change far
 * more often.
 *
 *   ready ⇄ processing       no slot held ⇄ some held; both are eligible unless the agent is full
 *     │  heartbeat with `draining`: draining, until the agent says otherwise or registers again
 *     │  drained by the administrator: draining, until they end it, whatever the agent says
 *     │  no contact for too long, or 410: offline, until its next contact (after 410: a heartbeat)
 *     ▼  unregister, or 24 h without contact: its record is removed (unregistered: after 90 s)
 *
 * Stored names are frozen: `external` is the external load, `left` says that the agent answered a push with
 * 410.
 */

/** The endpoint of a pull agent: it fetches its tasks with the claim call instead of being pushed to. */
export const PULL_ENDPOINT = 'pull';

/** The stored registration of an agent, with what the gateway decided about it. Times are store time. */
export type AgentRecord = {
  readonly agent_id: string;
  /** An absolute http(s) URL, or `pull`. */
  readonly endpoint: string;
  readonly agent_tags: readonly string[];
  readonly max_concurrent: number;
  /** External load: the load the agent reported, less the tasks it has from this gateway, never below 0. */
  readonly external: number;
  /**
   * A new id at each register call. A grant names the registration on which the match was made, and fails if
   * the agent has registered again since.
   */
  readonly registration: string;
  readonly registeredMs: number;
  /** Stays set until a heartbeat unsets it or the agent registers again. */
  readonly draining: boolean;
  /** The administrator drains it; else absent. Each registration copies it, and only they end it. */
  readonly drained_by_operator?: true;
  /** The registration that it replaced had a contact of late: two processes may use its id. Else absent. */
  readonly replaced?: true;
  /** Since when the agent counts as offline; null while it is not. */
  readonly offlineMs: number | null;
  /** It answered a push with 410: it stays offline until it registers or sends a heartbeat. */
  readonly left: boolean;
  /**
   * Since when the agent is unregistered. The record stays while its tasks may not move; callers do not see
   * it.
   */
  readonly unregisteredMs: number | null;
  /** Time without contact after which its running tasks fail as lost; null: never. */
  readonly lostAfterMs: number | null;
  /**
   * Slots it may hold now: `slotLimit()` of this record, stored because the engines index it. 0: not
   * eligible.
   */
  readonly limit: number;
};

export type AgentState = 'ready' | 'processing' | 'draining' | 'offline';

/** An agent's record before its limit is computed. */
export type AgentFields = Omit<AgentRecord, 'limit'>;

/** Completes a record with its limit. Every change of a record goes through here. */
export function completeAgent(fields: AgentFields): AgentRecord {
  return { ...fields, limit: slotLimit(fields) };
}

/** How many slots the agent may hold now; 0 when it is not eligible or its external load fills it. */
function slotLimit(agent: AgentFields): number {
  const isIneligible = isDraining(agent) || agent.offlineMs !== null || agent.unregisteredMs !== null;
  return isIneligible ? 0 : Math.max(0, agent.max_concurrent - agent.external);
}

/** Whether it gets no more tasks because it asked for that, or because the administrator drains it. */
export function isDraining({ draining, drained_by_operator }: AgentFields): boolean {
  return draining || drained_by_operator === true;
}

/** The agent's state; `slots` is how many it holds. */
export function agentState(agent: AgentRecord, slots: number): AgentState {
  if (agent.offlineMs !== null || agent.unregisteredMs !== null) return 'offline';
  if (isDraining(agent)) return 'draining';
  return slots > 0 ? 'processing' : 'ready';
}

/** The agent's load: external load plus slots. */
export function agentLoad(agent: AgentRecord, slots: number): number {
  return agent.external + slots;
}

/** Whether the agent is at full load. */
export function isFull(agent: AgentRecord, slots: number): boolean {
  return agentLoad(agent, slots) >= agent.max_concurrent;
}

/**
 * Since when the agent is offline or unregistered, not counting the time before sweeping resumed; null while
 * it is neither.
 */
export function unavailableSinceMs(agent: AgentRecord, resumedMs: number): number | null {
  const sinceMs = agent.unregisteredMs ?? agent.offlineMs;
  return sinceMs === null ? null : Math.max(sinceMs, resumedMs);
}

/**
 * The external load: the reported load less the agent's tasks from this gateway, never below 0.
 *
 * If an agent does not name its tasks, it may have counted `ownTasks` of them, or up to `justReported` more,
 * whose slots were released while its report was under way. Within that doubt the external load stays as it
 * was before. For example, an agent reports 3, has 2 tasks here and has just reported one more: its external
 * load is 0 if it was 0 before, and 1 if it was 1 or more.
 */
export function externalLoad(
  reportedLoad: number,
  { ownTasks, justReported }: { readonly ownTasks: number; readonly justReported: number },
  before: number,
): number {
  const most = Math.max(0, reportedLoad - ownTasks);
  const least = Math.max(0, most - justReported);
  return Math.min(most, Math.max(least, before));
}

/** An agent's contacts; none of this is durable. */
export type Contact = {
  /**
   * The last time the agent called, registered, took a push, or was too busy for one. When sweeping paused,
   * it is never older than the end of the pause.
   */
  readonly contactMs: number;
  /** Last heartbeat; null if it has sent none. */
  readonly beatMs: number | null;
  /**
   * The time between its last two heartbeats, or between its registration and its last heartbeat if it
   * registered later; null if it has sent none. When sweeping paused in between, the pause is not counted.
   */
  readonly beatGapMs: number | null;
  /**
   * The last finished push with its HTTP status and its error, each or null; null before the first. Claims
   * count as pushes (`Touch`).
   */
  readonly push: {
    readonly taken: boolean;
    readonly status: number | null;
    readonly error: string | null;
  } | null;
  /** Since when its pushes fail; null if it took the last one, was too busy for it, or got none. */
  readonly unreachedSinceMs: number | null;
};

export const OFFLINE_AFTER_MS = 90_000;
const FREQUENT_BEAT_GAP_MS = 45_000;

/**
 * The store time at which the agent is offline unless it has a contact before; null: never.
 *
 *   it has sent a heartbeat, or claims    90 s after its last contact; with a gap of more than 45 s between
 *                                         its last two heartbeats, three times that gap
 *   neither, and its last push failed     90 s after its last contact or the first push that failed since
 *   it registered with `lost_after`       this long after its last contact, if this is earlier
 *
 * A push agent without heartbeats is never offline while its pushes do not fail. This time can move earlier,
 * but never to less than 90 s from now. So a look every 90 s is enough.
 */
export function offlineAtMs({ endpoint, lostAfterMs }: AgentRecord, contact: Contact): number | null {
  const { contactMs, beatMs, beatGapMs, unreachedSinceMs } = contact;
  const times: number[] = [];
  if (lostAfterMs !== null) times.push(contactMs + lostAfterMs);
  if (beatMs !== null || endpoint === PULL_ENDPOINT) times.push(contactMs + silenceMaxMs(beatGapMs ?? 0));
  else if (unreachedSinceMs !== null) times.push(Math.max(contactMs, unreachedSinceMs) + OFFLINE_AFTER_MS);
  return times.length === 0 ? null : Math.min(...times);
}

/**
 * The store time from which the silence of an agent counts as a sign of trouble, unless it has a contact
 * before: half way from its last contact to when it is offline; for example, after 45 s of 90 s. Null: never.
 */
export function silentAtMs(record: AgentRecord, contact: Contact): number | null {
  const offlineMs = offlineAtMs(record, contact);
  return offlineMs === null ? null : contact.contactMs + (offlineMs - contact.contactMs) / 2;
}

function silenceMaxMs(beatGapMs: number): number {
  return beatGapMs > FREQUENT_BEAT_GAP_MS ? 3 * beatGapMs : OFFLINE_AFTER_MS;
}
