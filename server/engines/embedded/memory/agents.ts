/**
 * The agents in memory: their records, the slots they hold, and for each tag the agents with a free slot.
 *
 * Invariant: an agent is in the free set of each of its tags exactly while it has a record and holds fewer
 * slots than its limit. Every change of a record or a slot goes through this file, so the sets are never out
 * of date.
 */
import BTreeModule from 'sorted-btree';
import { createSharedTexts } from '../../../async/shared-texts.ts';
import type { AgentRecord } from '../../../domain/agent.ts';
import type { Revision } from '../../../ports/store.ts';
import { type ChangeLog, createChangeLog } from '../../change-log.ts';
import { createSlots, type Slots } from './slots.ts';

const BTree = BTreeModule.default;

/** An agent's record with the numbers of the last commits that wrote it, and that touched the agent. */
type AgentEntry = {
  readonly record: AgentRecord;
  readonly revision: Revision;
  readonly recordSeq: number;
  seq: number;
};

export type Agents = {
  get(agent_id: string): AgentEntry | undefined;
  count(): number;
  /** At most `limit` ids in order, beginning after the given one. */
  list(after: string | undefined, limit: number): readonly string[];
  put(agent_id: string, record: AgentRecord, revision: Revision, seq: number): void;
  remove(agent_id: string, seq: number): void;
  /** Number of the last commit that removed an agent. */
  removedSeq(): number;
  grant(agent_id: string, request_id: string, seq: number): void;
  release(agent_id: string, request_id: string, seq: number): void;
  /** How many more tasks the agent may take; 0 without a record. */
  freeSlots(agent_id: string): number;
  /** An agent that has one of the tags and a free slot. */
  findFree(tags: readonly string[]): string | undefined;
  readonly slots: Pick<Slots, 'count' | 'has' | 'list'>;
  readonly changes: ChangeLog;
};

/**
 * Creates an empty set of agents. `run` makes the change log's cursors differ from those of earlier
 * generations.
 */
export function createAgents(run: number): Agents {
  const entries = new Map<string, AgentEntry>();
  const ids = new BTree<string, undefined>();
  const slots = createSlots();
  const changes = createChangeLog(String(run));
  const freeSets = createFreeSets();
  const tags = createSharedTexts();
  let removedSeq = 0;

  /** Equal tags of all agents are one string. A change of the record alone keeps those that it has. */
  function share(record: AgentRecord): AgentRecord {
    const before = entries.get(record.agent_id)?.record.agent_tags;
    if (before === record.agent_tags) return record;
    const agent_tags = tags.hold(record.agent_tags);
    tags.giveBack(before ?? []);
    return { ...record, agent_tags };
  }

  function freeSlots(agent_id: string): number {
    const entry = entries.get(agent_id);
    return entry ? Math.max(0, entry.record.limit - slots.count(agent_id)) : 0;
  }

  function refresh(agent_id: string, seq: number): void {
    const entry = entries.get(agent_id);
    freeSets.put(agent_id, entry && freeSlots(agent_id) > 0 ? entry.record.agent_tags : undefined);
    if (!entry) return;
    entry.seq = seq;
    changes.note(agent_id);
  }

  return {
    get: (agent_id) => entries.get(agent_id),
    count: () => entries.size,
    list(after, limit) {
      const found: string[] = [];
      let agent_id = ids.nextHigherKey(after);
      while (agent_id !== undefined && found.length < limit) {
        found.push(agent_id);
        agent_id = ids.nextHigherKey(agent_id);
      }
      return found;
    },
    put(agent_id, record, revision, seq) {
      if (!entries.has(agent_id)) ids.set(agent_id, undefined);
      entries.set(agent_id, { record: share(record), revision, recordSeq: seq, seq });
      refresh(agent_id, seq);
    },
    remove(agent_id, seq) {
      const entry = entries.get(agent_id);
      if (!entry) return;
      entries.delete(agent_id);
      tags.giveBack(entry.record.agent_tags);
      ids.delete(agent_id);
      removedSeq = seq;
      refresh(agent_id, seq);
      changes.noteRemoved(agent_id);
    },
    removedSeq: () => removedSeq,
    grant(agent_id, request_id, seq) {
      slots.grant(agent_id, request_id);
      refresh(agent_id, seq);
    },
    release(agent_id, request_id, seq) {
      slots.release(agent_id, request_id);
      refresh(agent_id, seq);
    },
    freeSlots,
    findFree: freeSets.find,
    slots,
    changes,
  };
}

/** For each tag the agents with a free slot. */
function createFreeSets(): {
  /** Puts the agent into the sets of these tags alone; undefined takes it out of all sets. */
  put(agent_id: string, tags: readonly string[] | undefined): void;
  find(tags: readonly string[]): string | undefined;
} {
  const tagsByAgent = new Map<string, readonly string[]>();
  const agentsByTag = new Map<string, Set<string>>();

  return {
    put(agent_id, tags) {
      const before = tagsByAgent.get(agent_id);
      if (before === tags) return;
      for (const tag of before ?? []) {
        const agents = agentsByTag.get(tag);
        agents?.delete(agent_id);
        if (agents?.size === 0) agentsByTag.delete(tag);
      }
      for (const tag of tags ?? []) {
        const agents = agentsByTag.get(tag) ?? new Set();
        agentsByTag.set(tag, agents.add(agent_id));
      }
      if (tags) tagsByAgent.set(agent_id, tags);
      else tagsByAgent.delete(agent_id);
    },
    find(tags) {
      for (const tag of tags) {
        for (const agent_id of agentsByTag.get(tag) ?? []) return agent_id;
      }
      return undefined;
    },
  };
}
