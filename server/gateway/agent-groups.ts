/**
 * Agents grouped by equal tag sets. Each group keeps its free agents in ranking order and the others by what
 * keeps them from tasks, and each tag knows its groups. So a match looks at the groups that share a tag, not
 * at the agents: its cost grows with the number of distinct tag sets.
 */
import { createHash } from 'node:crypto';
import BTreeModule from 'sorted-btree';
import { type Candidate, compareCandidates, isFailing, isFree } from '../domain/match.ts';
import { findObstacle, type Obstacle } from '../domain/task-match.ts';
import { type AgentOrder, createAgentOrder } from './agent-order.ts';
import { type AgentTally, createAgentTally } from './agent-tally.ts';
import { createSimilarTags, type SimilarTags } from './similar-tags.ts';
import { createGroupSupply, createTagSupplies, type GroupSupply, type TagSupplies } from './tag-supply.ts';

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
  /** Each group that shares a tag, with the number of tags it shares. */
  share(tags: readonly string[]): ReadonlyMap<AgentGroup, number>;
  /** All groups. */
  all(): Iterable<AgentGroup>;
  /** How many agents are registered. */
  registered(): number;
  /** The agents by state, and their slots. */
  figures: AgentTally['figures'];
  /** Whether an agent has the tag that is registered and not offline. */
  isServed(tag: string): boolean;
  /** For each of these tags, which no agent has: the tag of an agent that is most like it, if one is. */
  findSimilarTags: SimilarTags['find'];
  /** What the agents with each tag have. */
  readonly supplies: Pick<TagSupplies, 'find' | 'tagCount' | 'byUse' | 'unserved'>;
  /** The registered agents in the orders of the listing. */
  list: AgentOrder['list'];
};

/** The agents with one set of tags: the free ones, and the ids of the others that are registered. */
export type AgentGroup = {
  readonly free: FreeAgents;
  /** How many of the free ones do not take their pushes. */
  readonly failingFree: number;
  readonly kept: { readonly [O in Obstacle]?: ReadonlySet<string> };
};

type Group = {
  readonly key: string;
  readonly tags: readonly string[];
  readonly free: FreeAgents;
  failingFree: number;
  readonly kept: { [O in Obstacle]?: Set<string> };
  readonly supply: GroupSupply;
  size: number;
};
/** `kept`: what keeps it from tasks; null when nothing does, or it is not registered. */
type Entry = { readonly candidate: Candidate; readonly group: Group; readonly kept: Obstacle | null };

/** Creates it without agents. */
export function createAgentGroups(): AgentGroups {
  const entries = new Map<string, Entry>();
  const groups = createGroups();
  let tagChars = 0;
  let registered = 0;
  let tally = createAgentTally();
  const supplies = createTagSupplies();
  const order = createAgentOrder((agent_id) => entries.get(agent_id)?.candidate);

  function count(candidate: Candidate, group: Group, change: 1 | -1): void {
    tally.count(candidate, change);
    supplies.count(group.supply, candidate, change);
    if (isFree(candidate) && isFailing(candidate)) group.failingFree += change;
    order.note(candidate.record.agent_id);
    if (candidate.record.unregisteredMs === null) registered += change;
  }

  function remove(agent_id: string): void {
    const entry = entries.get(agent_id);
    if (!entry) return;
    entries.delete(agent_id);
    tagChars -= countTagChars(entry.candidate.record.agent_tags);
    if (isFree(entry.candidate)) entry.group.free.delete(entry.candidate);
    if (entry.kept !== null) entry.group.kept[entry.kept]?.delete(agent_id);
    count(entry.candidate, entry.group, -1);
    entry.group.size -= 1;
    if (entry.group.size === 0) groups.remove(entry.group);
  }

  return {
    get: (agent_id) => entries.get(agent_id)?.candidate,
    remove,
    put(candidate) {
      const { agent_id, agent_tags, unregisteredMs } = candidate.record;
      const before = entries.get(agent_id);
      // The usual change is of its slots alone.
      const group = before?.candidate.record === candidate.record ? before.group : groups.find(agent_tags);
      group.size += 1;
      // Its earlier entry goes afterwards, so that a group whose only agent changes is not made anew.
      remove(agent_id);
      tagChars += countTagChars(agent_tags);
      const kept = unregisteredMs === null ? findObstacle(candidate) : null;
      entries.set(agent_id, { candidate, group, kept });
      if (isFree(candidate)) group.free.set(candidate, true);
      if (kept !== null) addTo(group, kept, agent_id);
      count(candidate, group, 1);
    },
    clear() {
      entries.clear();
      groups.clear();
      tagChars = 0;
      registered = 0;
      tally = createAgentTally();
      supplies.clear();
      order.clear();
    },
    tagChars: () => tagChars,
    share: groups.share,
    all: groups.all,
    registered: () => registered,
    figures: () => tally.figures(),
    isServed: groups.isServed,
    findSimilarTags: groups.findSimilarTags,
    supplies,
    list: order.list,
  };
}

/** The groups by their tags. */
function createGroups() {
  const groups = new Map<string, Group>();
  const groupsByTag = new Map<string, Set<Group>>();
  const similarTags = createSimilarTags();

  function create(key: string, tags: readonly string[]): Group {
    const free = new BTree<Candidate, true>(undefined, compareCandidates);
    const supply = createGroupSupply(tags);
    const group: Group = { key, tags, free, failingFree: 0, kept: {}, supply, size: 0 };
    groups.set(key, group);
    for (const tag of tags) {
      const sharing = groupsByTag.get(tag);
      sharing?.add(group);
      if (sharing) continue;
      groupsByTag.set(tag, new Set([group]));
      similarTags.add(tag);
    }
    return group;
  }

  return {
    /** The group with these tags; a new one where there is no such. */
    find(agentTags: readonly string[]): Group {
      const tags = [...new Set(agentTags)].sort();
      const key = buildKey(tags);
      return groups.get(key) ?? create(key, tags);
    },
    remove(group: Group): void {
      groups.delete(group.key);
      for (const tag of group.tags) {
        const sharing = groupsByTag.get(tag);
        sharing?.delete(group);
        if (sharing?.size !== 0) continue;
        groupsByTag.delete(tag);
        similarTags.remove(tag);
      }
    },
    clear(): void {
      groups.clear();
      groupsByTag.clear();
      similarTags.clear();
    },
    share(tags: readonly string[]): ReadonlyMap<Group, number> {
      const shared = new Map<Group, number>();
      for (const tag of new Set(tags)) {
        for (const group of groupsByTag.get(tag) ?? []) shared.set(group, (shared.get(group) ?? 0) + 1);
      }
      return shared;
    },
    all: () => groups.values(),
    isServed(tag: string): boolean {
      for (const { free, kept } of groupsByTag.get(tag) ?? []) {
        if (free.size > 0 || kept.full?.size || kept.draining?.size) return true;
      }
      return false;
    },
    findSimilarTags: similarTags.find,
  };
}

function addTo({ kept }: Group, obstacle: Obstacle, agent_id: string): void {
  const ids = kept[obstacle] ?? new Set();
  kept[obstacle] = ids.add(agent_id);
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
