/**
 * Agents grouped by equal tag sets. Each group keeps its free agents in ranking order and the others by what
 * keeps them from tasks, and each tag knows its groups (`tag-groups.ts`). So a match looks at some of the
 * groups that share a tag, never at all agents.
 */
import { createHash } from 'node:crypto';
import BTreeModule from 'sorted-btree';
import { type Candidate, compareCandidates, isFree } from '../../../domain/match.ts';
import { findObstacle, type Obstacle } from '../../../domain/task-match.ts';
import { type AgentMemory, createAgentMemory } from './agent-memory.ts';
import { type AgentOrder, createAgentOrder } from './agent-order.ts';
import { type AgentTally, createAgentTally } from './agent-tally.ts';
import {
  type AgentGroup,
  createTagGroups,
  type FreeAgents,
  type MarkedGroup,
  type TagGroups,
} from './tag-groups.ts';
import { createCounts } from './tag-supply.ts';

const BTree = BTreeModule.default;

/** A longer key of a group is replaced by its hash. */
const SHORT_KEY_CHARS = 256;

export type AgentGroups = {
  get(agent_id: string): Candidate | undefined;
  put(candidate: Candidate): void;
  remove(agent_id: string): void;
  clear(): void;
  /** What the agents take of the memory. */
  readonly memory: Pick<AgentMemory, 'bytes' | 'estimateMore'>;
  /** Groups that share a tag. */
  readonly look: TagGroups['look'];
  /** What the agents that share a tag have. */
  countSharing(tags: readonly string[]): ReturnType<TagGroups['countSharing']>;
  /** All groups. */
  all(): Iterable<AgentGroup>;
  /** How many agents are registered. */
  registered(): number;
  /** The agents by state, and their slots. */
  figures: AgentTally['figures'];
  /** Whether an agent has the tag that is registered and not offline. */
  isServed(tag: string): boolean;
  /** For each of these tags, which no agent has: the tag of an agent that is most like it, if one is. */
  readonly findSimilarTags: TagGroups['findSimilarTags'];
  /** What the agents with each tag have. */
  readonly supplies: Pick<TagGroups, 'find' | 'tagCount' | 'byUse' | 'unserved'>;
  /** The registered agents in the orders of the listing. */
  list: AgentOrder['list'];
};

type Group = MarkedGroup & {
  readonly key: string;
  readonly kept: { [O in Obstacle]?: Set<string> };
  size: number;
};
/** `kept`: what keeps it from tasks; null when nothing does, or it is not registered. */
type Entry = { readonly candidate: Candidate; readonly group: Group; readonly kept: Obstacle | null };

/** Creates it without agents. */
export function createAgentGroups(): AgentGroups {
  const entries = new Map<string, Entry>();
  const tags = createTagGroups();
  const groups = createGroups(tags);
  let memory = createAgentMemory();
  let registered = 0;
  let tally = createAgentTally();
  const order = createAgentOrder((agent_id) => entries.get(agent_id)?.candidate);

  function count(candidate: Candidate, group: Group, change: 1 | -1): void {
    tally.count(candidate, change);
    tags.count(group, candidate, change);
    order.note(candidate.record.agent_id);
    if (candidate.record.unregisteredMs === null) registered += change;
  }

  function remove(agent_id: string): void {
    const entry = entries.get(agent_id);
    if (!entry) return;
    entries.delete(agent_id);
    memory.giveBack(entry.candidate.record);
    if (isFree(entry.candidate)) entry.group.free.delete(entry.candidate);
    if (entry.kept !== null) entry.group.kept[entry.kept]?.delete(agent_id);
    count(entry.candidate, entry.group, -1);
    entry.group.size -= 1;
    if (entry.group.size === 0) groups.remove(entry.group);
    else tags.settle(entry.group, false);
  }

  return {
    get: (agent_id) => entries.get(agent_id)?.candidate,
    remove,
    put(changed) {
      const { agent_id, registration, unregisteredMs } = changed.record;
      const before = entries.get(agent_id);
      // The usual change is not of its tags: these it has for as long as its registration.
      const isSame = before?.candidate.record.registration === registration;
      const agent_tags = memory.hold(isSame ? before.candidate.record : changed.record);
      const candidate = { ...changed, record: { ...changed.record, agent_tags } };
      const group = isSame ? before.group : groups.find(agent_tags);
      group.size += 1;
      // Its earlier entry goes afterwards, so that a group whose only agent changes is not made anew.
      remove(agent_id);
      const kept = unregisteredMs === null ? findObstacle(candidate) : null;
      entries.set(agent_id, { candidate, group, kept });
      if (isFree(candidate)) group.free.set(candidate, true);
      if (kept !== null) addTo(group, kept, agent_id);
      count(candidate, group, 1);
      tags.settle(group, before !== undefined && candidate.lastGrantMs > before.candidate.lastGrantMs);
    },
    clear() {
      entries.clear();
      groups.clear();
      memory = createAgentMemory();
      registered = 0;
      tally = createAgentTally();
      tags.clear();
      order.clear();
    },
    memory: {
      bytes: () => memory.bytes(),
      estimateMore: (agent, earlier) => memory.estimateMore(agent, earlier),
    },
    look: tags.look,
    countSharing: (names) => tags.countSharing(names, registered),
    all: groups.all,
    registered: () => registered,
    figures: () => tally.figures(),
    isServed(tag) {
      const counts = tags.find(tag);
      return counts !== undefined && counts.free + counts.full + counts.draining > 0;
    },
    findSimilarTags: tags.findSimilarTags,
    supplies: tags,
    list: order.list,
  };
}

/** The groups by their tags. */
function createGroups(tagGroups: TagGroups) {
  const groups = new Map<string, Group>();

  function create(key: string, names: readonly string[]): Group {
    const group: Group = {
      key,
      tags: tagGroups.open(names),
      kept: {},
      counts: createCounts(),
      freedom: 'rest',
      mark: 0,
      size: 0,
      free: new BTree<Candidate, true>(undefined, compareCandidates),
    };
    groups.set(key, group);
    tagGroups.add(group);
    return group;
  }

  return {
    /** The group with these tags; a new one where there is no such. */
    find(agentTags: readonly string[]): Group {
      const names = [...new Set(agentTags)].sort();
      const key = buildKey(names);
      return groups.get(key) ?? create(key, names);
    },
    remove(group: Group): void {
      groups.delete(group.key);
      tagGroups.remove(group);
    },
    clear: () => groups.clear(),
    all: () => groups.values(),
  };
}

function addTo({ kept }: Group, obstacle: Obstacle, agent_id: string): void {
  const ids = kept[obstacle] ?? new Set();
  kept[obstacle] = ids.add(agent_id);
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
