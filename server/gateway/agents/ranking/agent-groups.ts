/**
 * Agents grouped by equal tag sets. Each group keeps its free agents in ranking order and the others by what
 * keeps them from tasks, and each tag knows its groups (`tag-groups.ts`). So a match looks at some of the
 * groups that share a tag, never at all agents.
 */
import { createHash } from 'node:crypto';
import BTreeModule from 'sorted-btree';
import { type AgentState, agentState } from '../../../domain/agent.ts';
import { type Candidate, compareCandidates, isFailing, isFree } from '../../../domain/match.ts';
import { findObstacle, type Obstacle } from '../../../domain/task-match.ts';
import type { AgentFigures } from '../../../ports/figures.ts';
import { type AgentMemory, createAgentMemory } from './agent-memory.ts';
import { type AgentOrder, createAgentOrder } from './agent-order.ts';
import {
  type AgentGroup,
  createTagGroups,
  type FreeAgents,
  type Freedom,
  findFreedom,
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
  /** The ids of all agents, unregistered ones included. */
  ids(): Iterable<string>;
  /** The memory of the agents. */
  readonly memory: Pick<AgentMemory, 'bytes' | 'estimateMore'>;
  /** Groups that share a tag. */
  readonly look: TagGroups['look'];
  /** The counts of the agents with one of the tags. */
  countSharing(tags: readonly string[]): ReturnType<TagGroups['countSharing']>;
  /** All groups. */
  all(): Iterable<AgentGroup>;
  /** How many agents are registered. */
  registered(): number;
  /** The agents by state, and their slots. */
  figures: AgentTally['figures'];
  /** Whether a registered agent has the tag and is not offline. */
  isServed(tag: string): boolean;
  /** For each of these tags without an agent: the most similar tag of an agent, if there is one. */
  readonly findSimilarTags: TagGroups['findSimilarTags'];
  /** The counts of the agents with each tag. */
  readonly supplies: Pick<TagGroups, 'find' | 'tagCount' | 'byUse' | 'unserved'>;
  /** The registered agents in the orders of the listing. */
  list: AgentOrder['list'];
};

type Group = MarkedGroup & {
  readonly key: string;
  readonly hindered: { [O in Obstacle]?: Set<string> };
  size: number;
};
/** `hindered`: what keeps it from tasks; null when nothing does, or it is not registered. */
type Entry = { readonly candidate: Candidate; readonly group: Group; readonly hindered: Obstacle | null };

/** Creates it without agents. */
export function createAgentGroups(): AgentGroups {
  const entries = new Map<string, Entry>();
  const tags = createTagGroups();
  const groups = createGroups(tags);
  const memory = createAgentMemory();
  let registered = 0;
  const tally = createAgentTally();
  const order = createAgentOrder((agent_id) => entries.get(agent_id)?.candidate);

  /** Puts an agent of the group in the place of what it was before; null: it was, or is, no part of it. */
  function replace(group: Group, agent_id: string, before: Entry | null, after: Entry | null): void {
    if (before) {
      takeOut(before);
      tally.count(before.candidate, -1);
    }
    if (after) {
      putIn(after);
      tally.count(after.candidate, 1);
    }
    registered += Number(isRegistered(after)) - Number(isRegistered(before));
    tags.count(group, before?.candidate, after?.candidate);
    order.note(agent_id);
    if (group.size === 0) groups.remove(group);
    else tags.reorder(group, isGranted(before, after));
  }

  return {
    get: (agent_id) => entries.get(agent_id)?.candidate,
    remove(agent_id) {
      const entry = entries.get(agent_id);
      if (!entry) return;
      entries.delete(agent_id);
      memory.giveBack(entry.candidate.record);
      replace(entry.group, agent_id, entry, null);
    },
    put(changed) {
      const { agent_id, registration, unregisteredMs } = changed.record;
      const before = entries.get(agent_id) ?? null;
      // Tags change only with the registration, so most changes leave them alone.
      const isSame = before?.candidate.record.registration === registration;
      const agent_tags = isSame ? before.candidate.record.agent_tags : memory.hold(changed.record);
      if (before && !isSame) memory.giveBack(before.candidate.record);
      const candidate = holdTags(changed, agent_tags);
      const group = isSame ? before.group : groups.find(agent_tags, findFreedom(candidate));
      const hindered = unregisteredMs === null ? findObstacle(candidate) : null;
      const after = { candidate, group, hindered };
      entries.set(agent_id, after);
      if (before && before.group !== group) replace(before.group, agent_id, before, null);
      replace(group, agent_id, before?.group === group ? before : null, after);
    },
    ids: () => entries.keys(),
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

  function create(key: string, names: readonly string[], freedom: Freedom): Group {
    const group: Group = {
      key,
      tags: tagGroups.open(names),
      hindered: {},
      counts: createCounts(),
      freedom,
      order: 0,
      mark: 0,
      size: 0,
      free: new BTree<Candidate, true>(undefined, compareCandidates),
    };
    groups.set(key, group);
    tagGroups.add(group);
    return group;
  }

  return {
    /** The group with these tags; where there is no such a new one, which is as free as its first agent. */
    find(agentTags: readonly string[], freedom: Freedom): Group {
      const names = [...new Set(agentTags)].sort();
      const key = buildKey(names);
      return groups.get(key) ?? create(key, names, freedom);
    },
    remove(group: Group): void {
      groups.delete(group.key);
      tagGroups.remove(group);
    },
    all: () => groups.values(),
  };
}

/** The same with these strings as its tags; usually it has them already. */
function holdTags(candidate: Candidate, agent_tags: readonly string[]): Candidate {
  if (candidate.record.agent_tags === agent_tags) return candidate;
  return { ...candidate, record: { ...candidate.record, agent_tags } };
}

function isRegistered(entry: Entry | null): boolean {
  return entry?.candidate.record.unregisteredMs === null;
}

function isGranted(before: Entry | null, after: Entry | null): boolean {
  return before !== null && after !== null && after.candidate.lastGrantMs > before.candidate.lastGrantMs;
}

function putIn({ candidate, group, hindered }: Entry): void {
  group.size += 1;
  if (isFree(candidate)) group.free.set(candidate, true);
  if (hindered === null) return;
  const ids = group.hindered[hindered] ?? new Set();
  group.hindered[hindered] = ids.add(candidate.record.agent_id);
}

function takeOut({ candidate, group, hindered }: Entry): void {
  group.size -= 1;
  if (isFree(candidate)) group.free.delete(candidate);
  if (hindered !== null) group.hindered[hindered]?.delete(candidate.record.agent_id);
}

/** The same for equal tag sets alone; of a long one its hash, so that the tags are in memory once. */
function buildKey(tags: readonly string[]): string {
  const text = JSON.stringify(tags);
  return text.length <= SHORT_KEY_CHARS ? text : createHash('sha256').update(text).digest('base64');
}

/** The best free agent of a group among its first few, of those the caller wants. */
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

/** Counts the agents of the index by state and condition, and their slots, one change at a time. */
type AgentTally = {
  /** Adds an agent, or takes it out as it was added. */
  count(candidate: Candidate, change: 1 | -1): void;
  figures(): AgentFigures;
};

/** Creates it without agents. */
function createAgentTally(): AgentTally {
  const states: Record<AgentState, number> = { ready: 0, processing: 0, draining: 0, offline: 0 };
  let usedSlots = 0;
  let freeSlots = 0;
  let unusableSlots = 0;
  let offlineSlots = 0;
  let full = 0;
  let failing = 0;
  return {
    count(candidate, change) {
      const { record, slots } = candidate;
      const free = Math.max(0, record.limit - slots);
      const fails = isFailing(candidate);
      usedSlots += change * slots;
      freeSlots += change * free;
      if (fails) unusableSlots += change * free;
      if (record.unregisteredMs !== null) return;
      const state = agentState(record, slots);
      states[state] += change;
      if (state === 'offline') offlineSlots += change * slots;
      if (findObstacle(candidate) === 'full') full += change;
      if (fails) failing += change;
    },
    figures: () => ({
      states: { ...states },
      full,
      failing,
      usedSlots,
      freeSlots,
      unusableSlots,
      offlineSlots,
    }),
  };
}
