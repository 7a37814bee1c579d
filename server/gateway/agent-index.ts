/**
 * The gateway's ranking copy of the agents: who could take a task, best first.
 *
 * It only ranks. A stale copy costs one more try, never a wrong answer: the store refuses a grant to an agent that
 * is full, gone or registered anew, and refuses to abandon a task while an agent is free.
 *
 * Agents with equal tag sets form a group; each group keeps its free agents in order, each tag knows its groups. So
 * a match looks at the groups that share a tag, not at the agents: its cost grows with distinct tag sets.
 */
import BTreeModule from 'sorted-btree';
import { type Candidate, compareCandidates, compareForTask, isFree } from '../domain/match.ts';
import type { AgentChanges, AgentStatus, Store } from '../ports/store.ts';

const BTree = BTreeModule.default;
type FreeAgents = InstanceType<typeof BTree<Candidate, true>>;

type Group = {
  readonly key: string;
  readonly tags: readonly string[];
  readonly free: FreeAgents;
  size: number;
};
type Entry = { readonly candidate: Candidate; readonly group: Group };

export type AgentIndex = {
  /** Catches up with the store: one call, only what changed. */
  refresh(): Promise<void>;
  /** The best free agent that shares a tag and is not excluded; undefined when this copy knows none. */
  pick(tags: readonly string[], excluded?: ReadonlySet<string>): Candidate | undefined;
  /** Looks one agent up anew: the store's word on it differed from this copy. */
  reload(agent_id: string): Promise<void>;
  /** Counts a slot this gateway is about to be granted, so that a burst spreads before the store's word arrives. */
  noteGrant(agent_id: string, nowMs: number): void;
};

/** Creates an empty roster; the first refresh fills it. */
export function createAgentIndex(store: Pick<Store, 'readAgentChanges' | 'getAgentStatus'>): AgentIndex {
  const entries = new Map<string, Entry>();
  const groups = new Map<string, Group>();
  const groupsByTag = new Map<string, Set<Group>>();
  let cursor: string | null = null;
  // One after the other: an older answer must not overwrite a newer one.
  let catchingUp: Promise<void> = Promise.resolve();

  function put(candidate: Candidate): void {
    remove(candidate.record.agent_id);
    const group = groupFor(candidate.record.agent_tags);
    group.size += 1;
    entries.set(candidate.record.agent_id, { candidate, group });
    if (isFree(candidate)) group.free.set(candidate, true);
  }

  function remove(agent_id: string): void {
    const entry = entries.get(agent_id);
    if (!entry) return;
    entries.delete(agent_id);
    if (isFree(entry.candidate)) entry.group.free.delete(entry.candidate);
    entry.group.size -= 1;
    if (entry.group.size === 0) dropGroup(entry.group);
  }

  function groupFor(agentTags: readonly string[]): Group {
    const tags = [...new Set(agentTags)].sort();
    const key = JSON.stringify(tags);
    const known = groups.get(key);
    if (known) return known;
    const group: Group = {
      key,
      tags,
      free: new BTree<Candidate, true>(undefined, compareCandidates),
      size: 0,
    };
    groups.set(key, group);
    for (const tag of tags) {
      const sharing = groupsByTag.get(tag) ?? new Set();
      groupsByTag.set(tag, sharing.add(group));
    }
    return group;
  }

  function dropGroup(group: Group): void {
    groups.delete(group.key);
    for (const tag of group.tags) {
      const sharing = groupsByTag.get(tag);
      sharing?.delete(group);
      if (sharing?.size === 0) groupsByTag.delete(tag);
    }
  }

  function apply(changes: AgentChanges): void {
    if (changes.reset) {
      entries.clear();
      groups.clear();
      groupsByTag.clear();
    }
    for (const agent_id of changes.removed) remove(agent_id);
    for (const agentStatus of changes.changed) put(toCandidate(agentStatus));
    cursor = changes.cursor;
  }

  return {
    refresh() {
      const next = catchingUp.then(async () => apply(await store.readAgentChanges(cursor)));
      catchingUp = next.catch(() => undefined);
      return next;
    },

    async reload(agent_id) {
      const agentStatus = await store.getAgentStatus(agent_id);
      if (agentStatus) put(toCandidate(agentStatus));
      else remove(agent_id);
    },

    pick(tags, excluded) {
      const shared = new Map<Group, number>();
      for (const tag of new Set(tags)) {
        for (const group of groupsByTag.get(tag) ?? []) shared.set(group, (shared.get(group) ?? 0) + 1);
      }
      let best: Candidate | undefined;
      let bestShared = 0;
      for (const [group, count] of shared) {
        const candidate = firstFree(group.free, excluded);
        if (!candidate) continue;
        if (!best || compareForTask(candidate, count, best, bestShared) < 0) {
          best = candidate;
          bestShared = count;
        }
      }
      return best;
    },

    noteGrant(agent_id, nowMs) {
      const entry = entries.get(agent_id);
      if (entry) put({ ...entry.candidate, slots: entry.candidate.slots + 1, lastGrantMs: nowMs });
    },
  };
}

function firstFree(free: FreeAgents, excluded: ReadonlySet<string> | undefined): Candidate | undefined {
  if (!excluded || excluded.size === 0) return free.minKey();
  for (const candidate of free.keys()) {
    if (!excluded.has(candidate.record.agent_id)) return candidate;
  }
  return undefined;
}

function toCandidate(agentStatus: AgentStatus): Candidate {
  return {
    record: agentStatus.record,
    slots: agentStatus.slots,
    lastGrantMs: agentStatus.lastGrantMs,
    lastPushUntaken: agentStatus.contact.push?.taken === false,
  };
}
