/**
 * An agent as the gateway keeps it, and what follows from its record: its state, its load, how many slots it
 * may hold. Slots, contact and push statistics are the store's, not the record's (a load is not a registration).
 */

/** Tells an agent that fetches its tasks with the claim call instead of being pushed to. */
export const PULL_ENDPOINT = 'pull';

/** The stored registration of an agent (§2.4) with what the gateway decided about it. Times are store time. */
export type AgentRecord = {
  readonly agent_id: string;
  /** An absolute http(s) URL, or `pull`. */
  readonly endpoint: string;
  readonly agent_tags: readonly string[];
  readonly max_concurrent: number;
  /** Load the agent has from elsewhere: what it said less what is tracked here, never below 0. */
  readonly external: number;
  /** New at each register call: a grant holds only for the registration that was matched. */
  readonly registration: string;
  readonly registeredMs: number;
  /** Sticky until the agent says otherwise or registers again. */
  readonly draining: boolean;
  /** Since when the agent counts as offline; null while it is not. */
  readonly offlineMs: number | null;
  /** It answered a push with 410: it stays offline until it registers or beats. */
  readonly left: boolean;
  /** Since when the agent is unregistered; the record stays so long as its tasks may not move, and is unknown to all callers. */
  readonly unregisteredMs: number | null;
  /** After how much silence its running tasks fail as lost; null: never. */
  readonly lostAfterMs: number | null;
  /** Slots it may hold now: `slotLimit()` of this record, kept beside it because the engines index it; 0 = not eligible. */
  readonly limit: number;
};

export type AgentState = 'ready' | 'processing' | 'draining' | 'offline';

/** An agent's record before its limit is worked out. */
export type AgentFields = Omit<AgentRecord, 'limit'>;

/** Completes a record with the number of slots it may hold. Every change of a record goes through here. */
export function completeAgent(facts: AgentFields): AgentRecord {
  return { ...facts, limit: slotLimit(facts) };
}

/** How many slots the agent may hold now; 0 when it is not eligible or has no room beside its external load (§8). */
export function slotLimit(agent: AgentFields): number {
  const away = agent.draining || agent.offlineMs !== null || agent.unregisteredMs !== null;
  return away ? 0 : Math.max(0, agent.max_concurrent - agent.external);
}

/** The agent's state: `ready` and `processing` make it eligible unless it is full (§2.4). */
export function agentState(agent: AgentRecord, tracked: number): AgentState {
  if (agent.offlineMs !== null || agent.unregisteredMs !== null) return 'offline';
  if (agent.draining) return 'draining';
  return tracked > 0 ? 'processing' : 'ready';
}

/** The load shown: external and tracked. */
export function agentLoad(agent: AgentRecord, tracked: number): number {
  return agent.external + tracked;
}

/** Says whether the agent is at full load (§8). */
export function isFull(agent: AgentRecord, tracked: number): boolean {
  return agentLoad(agent, tracked) >= agent.max_concurrent;
}

/** Since when the agent is away for good (offline or unregistered); null while it is not. */
export function unavailableSinceMs(agent: AgentRecord): number | null {
  return agent.unregisteredMs ?? agent.offlineMs;
}

/** What of an agent's said load is not ours: less the tasks it names, or less what is tracked, never below 0. */
export function externalLoad(saidLoad: number, ours: number): number {
  return Math.max(0, saidLoad - ours);
}

/** What is known of an agent's contacts; none of it is durable. */
export type Contact = {
  /** Last call of the agent or acknowledged push, never older than the last gap in sweeping. */
  readonly contactMs: number;
  /** Last heartbeat; null when it never beat. */
  readonly beatMs: number | null;
  /** Gap between its last two heartbeats; null before the second. */
  readonly beatGapMs: number | null;
  /** The last finished push: HTTP status or null, and what went wrong or null; null before the first. */
  readonly push: {
    readonly taken: boolean;
    readonly status: number | null;
    readonly error: string | null;
  } | null;
};

export const OFFLINE_AFTER_MS = 90_000;
const QUICK_BEAT_GAP_MS = 45_000;
const SLOW_OFFLINE_AFTER_MS = 300_000;

/**
 * After how much silence an agent counts as offline: 90 s for one that beats at least every 45 s; for others the
 * longer of 300 s and three times their gap; one that never beat stays (null) unless its last push failed too.
 */
export function offlineAfterMs(contact: Contact): number | null {
  if (contact.beatMs === null && contact.push?.taken !== false) return null;
  const gapMs = contact.beatGapMs;
  if (gapMs !== null && gapMs <= QUICK_BEAT_GAP_MS) return OFFLINE_AFTER_MS;
  return Math.max(SLOW_OFFLINE_AFTER_MS, 3 * (gapMs ?? 0));
}
