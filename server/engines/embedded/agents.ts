/**
 * The agents in memory: their records, the slots they hold, and for each tag those that may take one more.
 *
 * Invariant: an agent stands in the free set of each of its tags exactly while it has a record and holds fewer slots
 * than its limit. Whoever changes a record or a slot goes through here, so the sets never lag behind.
 */
import BTreeModule from 'sorted-btree';
import type { AgentRecord } from '../../domain/agent.ts';
import type { Revision } from '../../ports/store.ts';
import { type ChangeLog, createChangeLog } from './change-log.ts';
import { createSlots, type Slots } from './slots.ts';

const BTree = BTreeModule.default;

/** An agent's record with the number of the last commit that touched the agent. */
export type AgentEntry = { readonly record: AgentRecord; readonly revision: Revision; seq: number };

export type Agents = {
  get(agentId: string): AgentEntry | undefined;
  count(): number;
  /** Agents by id, from behind one on. */
  list(after: string | undefined, limit: number): readonly string[];
  put(agentId: string, record: AgentRecord, revision: Revision, seq: number): void;
  remove(agentId: string, seq: number): void;
  /** Number of the last commit that removed an agent. */
  removedSeq(): number;
  grant(agentId: string, id: string, seq: number): void;
  release(agentId: string, id: string, seq: number): void;
  /** How many more tasks the agent may take; 0 without a record. */
  room(agentId: string): number;
  /** An agent with one of the tags that may take one more. */
  findFree(tags: readonly string[]): string | undefined;
  readonly slots: Pick<Slots, 'count' | 'has' | 'list'>;
  readonly changes: ChangeLog;
};

/** Creates an empty set of agents. */
export function createAgents(run: number): Agents {
  const entries = new Map<string, AgentEntry>();
  const ids = new BTree<string, undefined>();
  const slots = createSlots();
  const changes = createChangeLog(run);
  const free = createFreeSets();
  let removedSeq = 0;

  function room(agentId: string): number {
    const entry = entries.get(agentId);
    return entry ? Math.max(0, entry.record.limit - slots.count(agentId)) : 0;
  }

  function refresh(agentId: string, seq: number): void {
    const entry = entries.get(agentId);
    free.put(agentId, entry && room(agentId) > 0 ? entry.record.agent_tags : undefined);
    if (!entry) return;
    entry.seq = seq;
    changes.note(agentId);
  }

  return {
    get: (agentId) => entries.get(agentId),
    count: () => entries.size,
    list(after, limit) {
      const found: string[] = [];
      let id = ids.nextHigherKey(after);
      while (id !== undefined && found.length < limit) {
        found.push(id);
        id = ids.nextHigherKey(id);
      }
      return found;
    },
    put(agentId, record, revision, seq) {
      if (!entries.has(agentId)) ids.set(agentId, undefined);
      entries.set(agentId, { record, revision, seq });
      refresh(agentId, seq);
    },
    remove(agentId, seq) {
      if (!entries.delete(agentId)) return;
      ids.delete(agentId);
      removedSeq = seq;
      refresh(agentId, seq);
      changes.noteGone(agentId);
    },
    removedSeq: () => removedSeq,
    grant(agentId, id, seq) {
      slots.grant(agentId, id);
      refresh(agentId, seq);
    },
    release(agentId, id, seq) {
      slots.release(agentId, id);
      refresh(agentId, seq);
    },
    room,
    findFree: free.find,
    slots,
    changes,
  };
}

/** For each tag the agents that may take one more. */
function createFreeSets(): {
  put(agentId: string, tags: readonly string[] | undefined): void;
  find(tags: readonly string[]): string | undefined;
} {
  const tagsOf = new Map<string, readonly string[]>();
  const byTag = new Map<string, Set<string>>();

  return {
    put(agentId, tags) {
      const before = tagsOf.get(agentId);
      if (before === tags) return;
      for (const tag of before ?? []) {
        const set = byTag.get(tag);
        set?.delete(agentId);
        if (set?.size === 0) byTag.delete(tag);
      }
      for (const tag of tags ?? []) {
        const set = byTag.get(tag) ?? new Set();
        byTag.set(tag, set.add(agentId));
      }
      if (tags) tagsOf.set(agentId, tags);
      else tagsOf.delete(agentId);
    },
    find(tags) {
      for (const tag of tags) {
        for (const agentId of byTag.get(tag) ?? []) return agentId;
      }
      return undefined;
    },
  };
}
