/**
 * The sweeper: looks at agents that are due. It hands waiting tasks to an agent with room, notices silence (offline,
 * then lost), and removes records whose time is over. Also the bounded turns of retention.
 *
 * An agent is looked at lazily: contact does not re-time its entry; the look finds how long the silence really is and
 * says when to look again.
 */
import { type AgentFields, completeAgent, OFFLINE_AFTER_MS, offlineAfterMs } from '../domain/agent.ts';
import { GONE_AFTER_MS } from '../domain/delivery.ts';
import type { AgentStatus, Lease, Retention, Store } from '../ports/store.ts';
import { listAssigned } from './assignments.ts';
import { agentRef, type Transitions, taskRef } from './commit-step.ts';

export type Sweeper = {
  /** Does what a due agent needs. */
  lookAtAgent(agent_id: string, lease: Lease): Promise<void>;
  /** One bounded turn of retention; says how much went. */
  trim(): Promise<number>;
};

/** A silent agent's record goes after this. */
const FORGET_AFTER_MS = 24 * 3_600_000;
/** An agent that does not beat quickly yet is looked at this often: it may start to, and is then offline sooner. */
const QUIET_LOOK_MS = 45_000;
/** While tasks wait for an agent that has room, it is looked at again after this. */
const WAITERS_LOOK_MS = 1_000;
const WAITERS_PER_LOOK = 100;
const TRIM_LIMIT = 500;

/** Creates the sweeper. */
export function createSweeper(deps: {
  readonly store: Store;
  readonly transitions: Transitions;
  readonly retention: Retention;
}): Sweeper {
  const { store } = deps;

  async function lookAtAgent(agent_id: string, lease: Lease): Promise<void> {
    const ref = agentRef(agent_id);
    const agentStatus = await store.getAgentStatus(agent_id);
    if (!agentStatus) {
      await store.commit({ writes: [], due: [{ ref, atMs: null, lease }] });
      return;
    }
    const nowMs = store.nowMs();
    if (isForgotten(agentStatus, nowMs)) {
      const write = { kind: 'agent', id: agent_id, expect: agentStatus.revision, value: null } as const;
      await store.commit({ writes: [write], due: [{ ref, atMs: null, lease }] });
      return;
    }
    if (await noticeSilence(agentStatus, nowMs, lease)) return;
    const lost = await loseTasks(agentStatus, nowMs);
    const waiting = await offerWaiters(agentStatus, nowMs);
    const atMs = lost || waiting ? nowMs + WAITERS_LOOK_MS : nextLookMs(agentStatus, nowMs);
    await store.commit({ writes: [], due: [{ ref, atMs, lease }] });
  }

  /** Marks a silent agent offline; the entry is due again at once, for what follows from it. */
  async function noticeSilence(agentStatus: AgentStatus, nowMs: number, lease: Lease): Promise<boolean> {
    const { record, contact, revision } = agentStatus;
    const limitMs = offlineAfterMs(contact);
    const isAway = record.offlineMs !== null || record.unregisteredMs !== null;
    if (isAway || limitMs === null || nowMs - contact.contactMs < limitMs) return false;
    const facts: AgentFields = { ...record, offlineMs: nowMs };
    const outcome = await store.commit({
      writes: [{ kind: 'agent', id: record.agent_id, expect: revision, value: completeAgent(facts) }],
      due: [{ ref: agentRef(record.agent_id), atMs: nowMs, lease }],
    });
    return outcome.ok;
  }

  /**
   * Fails the running tasks of an agent that asked for it and fell silent. A task that it was given in its silence has
   * the same time from its assignment, else all who wait would be given to the silent agent and fail within seconds.
   */
  async function loseTasks({ record, contact }: AgentStatus, nowMs: number): Promise<boolean> {
    const { lostAfterMs } = record;
    if (lostAfterMs === null || nowMs - contact.contactMs < lostAfterMs) return false;
    const seconds = Math.floor((nowMs - contact.contactMs) / 1_000);
    const held = (await listAssigned(store, record.agent_id)).filter(
      ({ delivery }) => nowMs - delivery.assignedMs >= lostAfterMs,
    );
    await Promise.all(
      held.map(({ request_id }) => deps.transitions.advance(request_id, () => ({ type: 'lose', seconds }))),
    );
    return held.length > 0;
  }

  /**
   * Makes the oldest waiters due, as many as the agent has room for. Says whether there were any. One that another
   * gateway holds may be running by now: to end the lease of its push would have it pushed a second time.
   */
  async function offerWaiters({ record, slots }: AgentStatus, nowMs: number): Promise<boolean> {
    const room = Math.min(WAITERS_PER_LOOK, record.limit - slots);
    if (room <= 0) return false;
    const { items } = await store.list('waiting', { tags: record.agent_tags }, { limit: room });
    if (items.length === 0) return false;
    await store.commit({
      writes: [],
      due: items.map(({ request_id }) => ({
        ref: taskRef(request_id),
        atMs: nowMs,
        unlessHeld: true as const,
      })),
    });
    return true;
  }

  return {
    lookAtAgent,
    trim: () => store.trim(deps.retention, TRIM_LIMIT),
  };
}

/** An unregistered record stays while its tasks may not move; a silent one for a day. */
function isForgotten({ record, contact }: AgentStatus, nowMs: number): boolean {
  if (record.unregisteredMs !== null) return nowMs - record.unregisteredMs >= GONE_AFTER_MS;
  return nowMs - contact.contactMs >= FORGET_AFTER_MS;
}

/** The earliest moment at which this agent's silence could mean something new. */
function nextLookMs({ record, contact }: AgentStatus, nowMs: number): number {
  if (record.unregisteredMs !== null) return record.unregisteredMs + GONE_AFTER_MS;
  const times = [contact.contactMs + FORGET_AFTER_MS];
  const offlineMs = offlineAfterMs(contact);
  if (record.offlineMs === null && offlineMs !== OFFLINE_AFTER_MS) times.push(nowMs + QUIET_LOOK_MS);
  if (record.offlineMs === null && offlineMs !== null) times.push(contact.contactMs + offlineMs);
  if (record.lostAfterMs !== null && nowMs - contact.contactMs < record.lostAfterMs) {
    times.push(contact.contactMs + record.lostAfterMs);
  }
  // An agent that is lost already but holds new tasks is looked at now and then.
  else if (record.lostAfterMs !== null) times.push(nowMs + QUIET_LOOK_MS);
  return Math.max(nowMs + 1, Math.min(...times));
}
