/**
 * The sweeper: looks at due agents. It offers waiting tasks to an agent with free slots, notices missing
 * contact (first offline, then lost), and removes records that are past their time. It also runs the bounded
 * turns of retention.
 *
 * Agents are looked at lazily: a contact does not re-time the due entry. The look itself finds out how long
 * the agent has had no contact, and sets when to look again.
 */
import { type AgentFields, completeAgent, OFFLINE_AFTER_MS, offlineAfterMs } from '../domain/agent.ts';
import { GONE_AFTER_MS } from '../domain/delivery.ts';
import { type AgentStatus, agentRef, type Lease, type Retention, type Store } from '../ports/store.ts';
import { listAssigned, lookAtUnacknowledged } from './assignments.ts';
import type { TaskCommits } from './commit-step.ts';
import { createWaitingOffers, type WaitingOffers } from './waiting-offers.ts';

export type Sweeper = {
  /** Does what a due agent needs. */
  lookAtAgent(agent_id: string, lease: Lease): Promise<void>;
  /** Runs one bounded turn of retention; returns how much was removed. */
  trim(): Promise<number>;
};

type Deps = { readonly store: Store; readonly commits: TaskCommits; readonly retention: Retention };
type Parts = Deps & { readonly offers: WaitingOffers };

/** The record of an agent without contact is removed after this. */
const FORGET_AFTER_MS = 24 * 3_600_000;
/**
 * An agent whose heartbeats are not frequent is looked at this often: once they are, it is offline sooner.
 */
const SLOW_BEAT_LOOK_MS = 45_000;
/** While tasks are being lost, the agent is looked at again after this. */
const LOSING_LOOK_MS = 1_000;
const TRIM_LIMIT = 500;

/** Creates the sweeper. */
export function createSweeper(deps: Deps): Sweeper {
  const parts = { ...deps, offers: createWaitingOffers(deps) };
  return {
    lookAtAgent: (agent_id, lease) => lookAtAgent(parts, agent_id, lease),
    trim: () => deps.store.trim(deps.retention, TRIM_LIMIT),
  };
}

async function lookAtAgent(deps: Parts, agent_id: string, lease: Lease): Promise<void> {
  const { store, commits, offers } = deps;
  const ref = agentRef(agent_id);
  const agentStatus = await store.getAgentStatus(agent_id);
  if (!agentStatus) {
    await commits.reschedule([{ ref, atMs: null, lease }]);
    return;
  }
  const nowMs = store.nowMs();
  if (isPastItsTime(agentStatus, nowMs)) {
    const write = { kind: 'agent', id: agent_id, expect: agentStatus.revision, value: null } as const;
    await store.commit({ writes: [write], due: [{ ref, atMs: null, lease }] });
    return;
  }
  if (await markOffline(deps, agentStatus, nowMs, lease)) {
    // What it certainly did not take moves at once.
    await lookAtUnacknowledged(deps, agent_id);
    return;
  }
  const lost = await loseTasks(deps, agentStatus, nowMs);
  const offerMs = await offers.offer(agentStatus, nowMs);
  const times = [nextLookMs(agentStatus, nowMs)];
  if (lost) times.push(nowMs + LOSING_LOOK_MS);
  if (offerMs !== null) times.push(offerMs);
  await commits.reschedule([{ ref, atMs: Math.min(...times), lease }]);
}

/** Marks an agent without contact offline. Its entry is due again at once, for what follows from that. */
async function markOffline(
  { store }: Deps,
  { record, contact, revision }: AgentStatus,
  nowMs: number,
  lease: Lease,
): Promise<boolean> {
  const limitMs = offlineAfterMs(contact);
  const isUnavailable = record.offlineMs !== null || record.unregisteredMs !== null;
  if (isUnavailable || limitMs === null || nowMs - contact.contactMs < limitMs) return false;
  const fields: AgentFields = { ...record, offlineMs: nowMs };
  const result = await store.commit({
    writes: [{ kind: 'agent', id: record.agent_id, expect: revision, value: completeAgent(fields) }],
    due: [{ ref: agentRef(record.agent_id), atMs: nowMs, lease }],
  });
  return result.ok;
}

/**
 * Fails the running tasks of an agent that registered with `lost_after` and had no contact for that long. A
 * task that was assigned since its last contact has the same time from its assignment; else every waiting
 * task would be assigned to this agent and fail within seconds.
 */
async function loseTasks(
  { store, commits }: Deps,
  { record, contact }: AgentStatus,
  nowMs: number,
): Promise<boolean> {
  const { lostAfterMs } = record;
  if (lostAfterMs === null || nowMs - contact.contactMs < lostAfterMs) return false;
  const seconds = Math.floor((nowMs - contact.contactMs) / 1_000);
  const lost = (await listAssigned(store, record.agent_id)).filter(
    ({ delivery }) => nowMs - delivery.assignedMs >= lostAfterMs,
  );
  await Promise.all(lost.map(({ request_id }) => commits.advanceTask(request_id, { type: 'lose', seconds })));
  return lost.length > 0;
}

/**
 * The record of an unregistered agent stays while its tasks may not move; that of one without contact for a
 * day.
 */
function isPastItsTime({ record, contact }: AgentStatus, nowMs: number): boolean {
  if (record.unregisteredMs !== null) return nowMs - record.unregisteredMs >= GONE_AFTER_MS;
  return nowMs - contact.contactMs >= FORGET_AFTER_MS;
}

/** The earliest moment at which the missing contact of this agent could have a new consequence. */
function nextLookMs({ record, contact }: AgentStatus, nowMs: number): number {
  if (record.unregisteredMs !== null) return record.unregisteredMs + GONE_AFTER_MS;
  const times = [contact.contactMs + FORGET_AFTER_MS];
  const offlineMs = offlineAfterMs(contact);
  if (record.offlineMs === null && offlineMs !== OFFLINE_AFTER_MS) times.push(nowMs + SLOW_BEAT_LOOK_MS);
  if (record.offlineMs === null && offlineMs !== null) times.push(contact.contactMs + offlineMs);
  if (record.lostAfterMs !== null && nowMs - contact.contactMs < record.lostAfterMs) {
    times.push(contact.contactMs + record.lostAfterMs);
  }
  // An agent that is lost already but has new tasks is looked at now and then.
  else if (record.lostAfterMs !== null) times.push(nowMs + SLOW_BEAT_LOOK_MS);
  return Math.max(nowMs + 1, Math.min(...times));
}
