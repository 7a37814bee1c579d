/**
 * The sweeper looks at due agents. It offers waiting tasks to agents with free slots, notices missing contact
 * (offline, lost), and removes old records. It also runs the bounded passes of retention.
 *
 * A contact does not re-time an agent's due entry. The look finds out how long the agent has had no contact,
 * and sets the next look. A commit that follows from missing contact fails if a contact comes before it.
 *
 *   contact ── offlineAtMs() ──▶ offline
 *      ╰────── lost_after ─────▶ each task fails once it was assigned that long ago too
 */
import type { KeepPace } from '../../async/pace.ts';
import {
  type AgentFields,
  type AgentRecord,
  completeAgent,
  OFFLINE_AFTER_MS,
  offlineAtMs,
  unavailableSinceMs,
} from '../../domain/agent.ts';
import { GONE_AFTER_MS } from '../../domain/delivery.ts';
import type { Observer } from '../../ports/observer.ts';
import {
  type AgentStatus,
  agentRef,
  type Batch,
  type Lease,
  type Retention,
  type Store,
} from '../../ports/store.ts';
import { makeUnacknowledgedDue } from '../agents/assignments.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { createLostTasks, type LostTasks } from './lost-tasks.ts';
import type { SweepTimes } from './sweep-times.ts';
import { createWaitingOffers, type WaitingOffers } from './waiting-offers.ts';

export type Sweeper = {
  /** Does what a due agent needs. */
  lookAtAgent(agent_id: string, lease: Lease): Promise<void>;
  /** Runs one bounded pass of retention; returns how much was removed. */
  trim(): Promise<number>;
};

type Deps = {
  readonly store: Store;
  readonly commits: TaskCommits;
  readonly retention: Retention;
  readonly sweepTimes: SweepTimes;
  readonly observer: Pick<Observer, 'noteAgent'>;
  readonly keepPace: KeepPace;
};
type Parts = Deps & { readonly lostTasks: LostTasks; readonly offers: WaitingOffers };

/** After this long the record of an agent without contact is removed. */
const FORGET_AFTER_MS = 24 * 3_600_000;
const TRIM_LIMIT = 500;

export function createSweeper(deps: Deps): Sweeper {
  const parts = { ...deps, lostTasks: createLostTasks(deps), offers: createWaitingOffers(deps) };
  return {
    lookAtAgent: (agent_id, lease) => lookAtAgent(parts, agent_id, lease),
    trim: () => deps.store.trim(deps.retention, TRIM_LIMIT),
  };
}

async function lookAtAgent(parts: Parts, agent_id: string, lease: Lease): Promise<void> {
  const { store, commits, lostTasks, offers, sweepTimes } = parts;
  const ref = agentRef(agent_id);
  const agentStatus = await store.getAgentStatus(agent_id);
  await parts.keepPace();
  if (!agentStatus) {
    await commits.reschedule([{ ref, atMs: null, lease }]);
    return;
  }
  const nowMs = store.nowMs();
  const resumedMs = sweepTimes.resumedMs(nowMs);
  const change = changeForSilence(agentStatus, { nowMs, resumedMs }, lease);
  if (change) {
    const result = await store.commit(change);
    if (!result.ok) {
      // Something else changed the agent first, so it is looked at again.
      await commits.reschedule([{ ref, atMs: nowMs, lease }]);
      return;
    }
    for (const { kind, value } of change.writes) {
      if (kind === 'agent' && value !== null) parts.observer.noteAgent('offline', value);
    }
    // Tasks that the agent certainly did not take move at once.
    await makeUnacknowledgedDue(parts, agent_id);
    return;
  }
  const lossMs = await lostTasks.lose(agentStatus, nowMs);
  const offerMs = await offers.offer(agentStatus, nowMs);
  const times = [nextLookMs(agentStatus, { nowMs, resumedMs }), lossMs, offerMs].filter(
    (timeMs) => timeMs !== null,
  );
  await commits.reschedule([{ ref, atMs: Math.min(...times), lease }]);
}

/** The present, and since when sweeping has gone on without a pause. */
type Times = { readonly nowMs: number; readonly resumedMs: number };

/**
 * What an agent's silence changes: its record is removed, or marked offline and due at once for the
 * consequences. Undefined if nothing changes.
 */
function changeForSilence(agentStatus: AgentStatus, times: Times, lease: Lease): Batch | undefined {
  const { nowMs } = times;
  const { record, revision, contact } = agentStatus;
  const { agent_id, unregisteredMs } = record;
  const ref = agentRef(agent_id);
  const write = { kind: 'agent', id: agent_id, expect: revision } as const;
  const noContactAfter = { agent_id, atMs: contact.contactMs };
  if (isPastItsTime(agentStatus, times)) {
    const removal: Batch = { writes: [{ ...write, value: null }], due: [{ ref, atMs: null, lease }] };
    return unregisteredMs === null ? { ...removal, noContactAfter } : removal;
  }
  const offlineMs = offlineAtMs(record, contact);
  const isUnavailable = record.offlineMs !== null || unregisteredMs !== null;
  if (isUnavailable || offlineMs === null || nowMs < offlineMs) return undefined;
  const fields: AgentFields = { ...record, offlineMs: nowMs };
  return {
    writes: [{ ...write, value: completeAgent(fields) }],
    due: [{ ref, atMs: nowMs, lease }],
    noContactAfter,
  };
}

/**
 * Whether the record may be removed: for an unregistered agent, once its tasks may move; for any other, after
 * a day without contact.
 */
function isPastItsTime({ record, contact }: AgentStatus, { nowMs, resumedMs }: Times): boolean {
  if (record.unregisteredMs !== null) return nowMs >= goneAtMs(record, resumedMs);
  return nowMs - contact.contactMs >= FORGET_AFTER_MS;
}

function goneAtMs(record: AgentRecord, resumedMs: number): number {
  return (unavailableSinceMs(record, resumedMs) ?? Number.POSITIVE_INFINITY) + GONE_AFTER_MS;
}

/**
 * The earliest time at which missing contact could have a new consequence. Until the agent is offline, it
 * gets a look every 90 s or sooner: heartbeats may become more frequent, or pushes begin to fail, and then it
 * is offline 90 s later.
 */
function nextLookMs({ record, contact }: AgentStatus, { nowMs, resumedMs }: Times): number {
  if (record.unregisteredMs !== null) return goneAtMs(record, resumedMs);
  const times = [contact.contactMs + FORGET_AFTER_MS];
  if (record.offlineMs === null) {
    times.push(nowMs + OFFLINE_AFTER_MS, offlineAtMs(record, contact) ?? Number.POSITIVE_INFINITY);
  }
  return Math.max(nowMs + 1, Math.min(...times));
}
