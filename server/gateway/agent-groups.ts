/**
 * Agents grouped by equal tag sets. Each group keeps its free agents in ranking order, and each tag knows its
 * groups. So a match looks at the groups that share a tag, not at the agents: its cost grows with the number
 * of distinct tag sets.
 */
import { createHash } from 'node:crypto';
import BTreeModule from 'sorted-btree';
import { type Candidate, compareCandidates, isFree } from '../domain/match.ts';

const BTree = BTreeModule.default;

/** A longer key of a group is replaced by its hash. */
const SHORT_KEY_CHARS = 256;

/** The free agents of one group, best first. */
export type FreeAgents = InstanceType<typeof BTree<Candidate, true>>;

export type AgentGroups = {
  get(agent_id: string): Candidate | undefined;
  put(candidate: Candidate): void;
  remove(agent_id: string): void;
  clear(): void;
  /** Characters of the tags of all agents. */
  tagChars(): number;
  /** The free agents of each group that shares a tag, with the number of tags it shares. */
  share(tags: readonly string[]): Iterable<readonly [FreeAgents, number]>;
};

type Group = {
  readonly key: string;
  readonly tags: readonly string[];
  readonly free: FreeAgents;
  size: number;
};
type Entry = { readonly candidate: Candidate; readonly group: Group };

/** Creates it without agents. */
export function createAgentGroups(): AgentGroups {
  const entries = new Map<string, Entry>();
  const groups = new Map<string, Group>();
  const groupsByTag = new Map<string, Set<Group>>();
  let tagChars = 0;

  function findGroup(agentTags: readonly string[]): Group {
    const tags = [...new Set(agentTags)].sort();
    const key = buildKey(tags);
    const existing = groups.get(key);
    if (existing) return existing;
    const free = new BTree<Candidate, true>(undefined, compareCandidates);
    const group: Group = { key, tags, free, size: 0 };
    groups.set(key, group);
    for (const tag of tags) {
      const sharing = groupsByTag.get(tag) ?? new Set();
      groupsByTag.set(tag, sharing.add(group));
    }
    return group;
  }

  function removeGroup(group: Group): void {
    groups.delete(group.key);
    for (const tag of group.tags) {
      const sharing = groupsByTag.get(tag);
      sharing?.delete(group);
      if (sharing?.size === 0) groupsByTag.delete(tag);
    }
  }

  function remove(agent_id: string): void {
    const entry = entries.get(agent_id);
    if (!entry) return;
    entries.delete(agent_id);
    tagChars -= countTagChars(entry.candidate.record.agent_tags);
    if (isFree(entry.candidate)) entry.group.free.delete(entry.candidate);
    entry.group.size -= 1;
    if (entry.group.size === 0) removeGroup(entry.group);
  }

  return {
    get: (agent_id) => entries.get(agent_id)?.candidate,
    remove,
    put(candidate) {
      const { agent_id, agent_tags } = candidate.record;
      const entry = entries.get(agent_id);
      // The usual change: a slot was granted or released.
      if (entry && entry.candidate.record === candidate.record) {
        if (isFree(entry.candidate)) entry.group.free.delete(entry.candidate);
        if (isFree(candidate)) entry.group.free.set(candidate, true);
        entries.set(agent_id, { candidate, group: entry.group });
        return;
      }
      remove(agent_id);
      const group = findGroup(agent_tags);
      group.size += 1;
      tagChars += countTagChars(agent_tags);
      entries.set(agent_id, { candidate, group });
      if (isFree(candidate)) group.free.set(candidate, true);
    },
    clear() {
      entries.clear();
      groups.clear();
      groupsByTag.clear();
      tagChars = 0;
    },
    tagChars: () => tagChars,
    share(tags) {
      const shared = new Map<FreeAgents, number>();
      for (const tag of new Set(tags)) {
        for (const { free } of groupsByTag.get(tag) ?? []) shared.set(free, (shared.get(free) ?? 0) + 1);
      }
      return shared;
    },
  };
}

/** Characters of these tags together. */
export function countTagChars(tags: readonly string[]): number {
  return tags.reduce((sum, tag) => sum + tag.length, 0);
}

/** The same for equal tag sets alone; of a long one its hash, so that the tags are in memory once. */
function buildKey(tags: readonly string[]): string {
  const text = JSON.stringify(tags);
  return text.length <= SHORT_KEY_CHARS ? text : createHash('sha256').update(text).digest('base64');
}

/** The best free agent of a group that is wanted, among so many of the best. */
export function firstFree(
  free: FreeAgents,
  isWanted: (candidate: Candidate) => boolean,
  lookedAtMax: number,
): Candidate | undefined {
  const best = free.minKey();
  if (!best || isWanted(best)) return best;
  let lookedAt = 0;
  for (const candidate of free.keys()) {
    if (isWanted(candidate)) return candidate;
    lookedAt += 1;
    if (lookedAt === lookedAtMax) return undefined;
  }
  return undefined;
}
