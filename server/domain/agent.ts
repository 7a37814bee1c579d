/**
 * An agent as the gateway keeps it, and what follows from its record: its state, its load, how many slots it
 * may hold. Slots, contact and push outcomes change far more often, so the store keeps them apart from the
 * record.
 *
 *   ready ⇄ processing       no slot held ⇄ some held; both are eligible unless the agent is full
 *     │  heartbeat with `draining`: draining, until the agent says otherwise or registers again
 *     │  drained by the administrator: draining, until the administrator ends it
 *     │  no contact for too long, or 410: offline, until its next contact (after 410: a heartbeat)
 *     ▼  unregister, or 24 h without contact: its record is removed (unregistered: after 90 s)
 *
 * Stored names are frozen: `external` is the external load, `left` says that the agent answered a push with
 * 410.
 */

/** The endpoint of a pull agent, which fetches its tasks with the claim call instead of getting pushes. */
export const PULL_ENDPOINT = 'pull';

/**
 * The stored registration of an agent, with what the gateway has decided about the agent. Times are store
 * time.
 */
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
  /**
   * Set while the administrator drains the agent. Each registration copies the mark; only the administrator
   * removes it.
   */
  readonly drained_by_operator?: true;
  /** Set if the replaced registration had a contact shortly before: two processes may use the same id. */
  readonly replaced?: true;
  /** Since when the agent counts as offline; null while it is not. */
  readonly offlineMs: number | null;
  /** The agent answered a push with 410: it stays offline until it registers or sends a heartbeat. */
  readonly left: boolean;
  /**
   * Since when the agent is unregistered; null while it is not. Callers do not see an unregistered agent. Its
   * record stays for 90 s: until then a task that the agent may have taken must not move.
   */
  readonly unregisteredMs: number | null;
  /** After this time without contact, the agent's running tasks fail as lost; null: never. */
  readonly lostAfterMs: number | null;
  /**
   * How many slots the agent may hold now: `slotLimit()` of this record, stored because the engines index it.
   * 0: not eligible.
   */
  readonly limit: number;
};

export type AgentState = 'ready' | 'processing' | 'draining' | 'offline';

export type AgentFields = Omit<AgentRecord, 'limit'>;

/** Computes the limit of a record. Every change of a record goes through this function. */
export function completeAgent(fields: AgentFields): AgentRecord {
  return { ...fields, limit: slotLimit(fields) };
}

/** 0 when the agent is not eligible or its external load fills it. */
function slotLimit(agent: AgentFields): number {
  const isIneligible = isDraining(agent) || agent.offlineMs !== null || agent.unregisteredMs !== null;
  return isIneligible ? 0 : Math.max(0, agent.max_concurrent - agent.external);
}

/** Whether the agent gets no more tasks because it asked for that, or because the administrator drains it. */
export function isDraining({ draining, drained_by_operator }: AgentFields): boolean {
  return draining || drained_by_operator === true;
}

export function agentState(agent: AgentRecord, slots: number): AgentState {
  if (agent.offlineMs !== null || agent.unregisteredMs !== null) return 'offline';
  if (isDraining(agent)) return 'draining';
  return slots > 0 ? 'processing' : 'ready';
}

export function agentLoad(agent: AgentRecord, slots: number): number {
  return agent.external + slots;
}

export function isFull(agent: AgentRecord, slots: number): boolean {
  return agentLoad(agent, slots) >= agent.max_concurrent;
}

/**
 * Since when the agent is offline or unregistered, but at the earliest since sweeping resumed; null while the
 * agent is neither.
 */
export function unavailableSinceMs(agent: AgentRecord, resumedMs: number): number | null {
  const sinceMs = agent.unregisteredMs ?? agent.offlineMs;
  return sinceMs === null ? null : Math.max(sinceMs, resumedMs);
}

/**
 * The external load: the reported load less the agent's tasks from this gateway, never below 0.
 *
 * An agent that does not name its tasks may have counted `ownTasks` of them, or up to `justReported` more:
 * their slots were released while the report was under way. Within this doubt the external load stays as it
 * was before. For example, an agent reports a load of 3, has 2 tasks here and has just reported the end of
 * one more: its external load stays 0 if it was 0 before, and becomes 1 if it was 1 or more.
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

/** The contacts of an agent. Nothing here is durable. */
export type Contact = {
  /**
   * The last time the agent called, registered, took a push, or was too busy for a push. After a pause in
   * sweeping, this time is never before the end of the pause.
   */
  readonly contactMs: number;
  /** The last heartbeat; null before the first. */
  readonly beatMs: number | null;
  /**
   * The time between the agent's last two heartbeats, without a pause in sweeping between them. If the agent
   * registered after its last but one heartbeat, the time counts from the registration. Null before the first
   * heartbeat.
   */
  readonly beatGapMs: number | null;
  /**
   * The last finished push, with its HTTP status and its error where there is one; null before the first.
   * Claims count as pushes (`Touch`).
   */
  readonly push: {
    readonly taken: boolean;
    readonly status: number | null;
    readonly error: string | null;
  } | null;
  /**
   * Since when the agent's pushes fail; null if the agent took the last push, was too busy for it, or got
   * none.
   */
  readonly unreachedSinceMs: number | null;
};

export const OFFLINE_AFTER_MS = 90_000;
const FREQUENT_BEAT_GAP_MS = 45_000;

/**
 * The store time at which the agent goes offline unless it has a contact before; null: never.
 *
 *   it has sent a heartbeat, or claims    90 s after its last contact; with a gap of more than 45 s between
 *                                         its last two heartbeats, three times that gap
 *   neither, and its last push failed     90 s after its last contact or the first push that failed since
 *   it registered with `lost_after`       this long after its last contact, if this is earlier
 *
 * A push agent without heartbeats is never offline while its pushes do not fail. When the time moves to an
 * earlier one, that is still at least 90 s ahead. So a look every 90 s is enough.
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
 * The store time from which the silence of an agent counts as a sign of trouble: half way from the last
 * contact to the time when the agent goes offline. For example, after 45 s of 90 s. Null: never.
 */
export function silentAtMs(record: AgentRecord, contact: Contact): number | null {
  const offlineMs = offlineAtMs(record, contact);
  return offlineMs === null ? null : contact.contactMs + (offlineMs - contact.contactMs) / 2;
}

function silenceMaxMs(beatGapMs: number): number {
  return beatGapMs > FREQUENT_BEAT_GAP_MS ? 3 * beatGapMs : OFFLINE_AFTER_MS;
}
