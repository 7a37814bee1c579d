/**
 * Demand and supply of each tag, for the overview: the tasks that wait for it or ended without an agent,
 * beside the slots of its agents. If tasks ask for a tag, or no agent serves it, it comes first, by need; the
 * other tags of agents follow, by use.
 */
import type { ActivityStep } from '../../../domain/activity.ts';
import { isFailing } from '../../../domain/match.ts';
import type { TaskCounts } from '../../../domain/task-counts.ts';
import type { TagDemand } from '../../../ports/admin.ts';
import type { Demand } from '../../../ports/store.ts';
import type { AgentIndex } from '../../agents/ranking/agent-index.ts';
import { createCounts, isSupplied } from '../../agents/ranking/tag-supply.ts';
import type { IndexedTag } from '../../agents/ranking/tagged-agents.ts';

/** The readings for the tags. */
export type TagSources = {
  readonly counts: TaskCounts & Demand;
  readonly steps: readonly ActivityStep[];
  readonly untaken: UntakenSlots;
};

/** Slots of tasks that agents which do not take their pushes have not taken: all, and by tag. */
export type UntakenSlots = { readonly total: number; readonly byTag: ReadonlyMap<string, number> };

export type TagTable = {
  /** Sorted by need. */
  readonly rows: readonly TagDemand[];
  /** How many tags there are, those left out included. */
  readonly total: number;
};

/** The tags by need, at most this many. */
export function buildTagTable(
  { counts, steps, untaken }: TagSources,
  agentIndex: Pick<AgentIndex, 'tags' | 'findTag'>,
  tagsMax: number,
): TagTable {
  const waiting = new Map(counts.tags.map((one) => [one.tag, one]));
  const noAgent = countNoAgent(steps);
  const asked = new Set([...waiting.keys(), ...noAgent.keys()]);
  const describe = (tag: string): TagDemand => {
    const supply = agentIndex.findTag(tag)?.counts ?? NONE;
    const { agents, free, full, usedSlots: used, freeSlots, unusableSlots } = supply;
    const demanded = waiting.get(tag);
    const untakenSlots = Math.min(untaken.byTag.get(tag) ?? 0, used);
    const oldest = demanded === undefined ? null : demanded.oldestMs / 1_000;
    return {
      tag,
      waiting: demanded?.waiting ?? 0,
      oldest_create_time: oldest,
      no_agent: noAgent.get(tag) ?? 0,
      used,
      free: freeSlots,
      unusable: unusableSlots + untakenSlots,
      not_taken: untakenSlots,
      agents,
      eligible: free + full,
    };
  };
  const others = [...agentIndex.tags()].filter((one) => isSupplied(one.counts) && !asked.has(one.tag));
  const isIdle = ({ counts: { usedSlots, free } }: IndexedTag): boolean => usedSlots === 0 && free > 0;
  const described = [...others.filter((one) => !isIdle(one)), ...others.filter(isIdle).slice(0, IDLE_MAX)];
  const named = [...asked, ...described.map(({ tag }) => tag)];
  return {
    rows: named.map(describe).sort(compareNeed).slice(0, tagsMax),
    total: others.length + asked.size,
  };
}

const NONE = createCounts();
/** Of very many tags that no task uses or asks for, so many are described. */
const IDLE_MAX = 5_000;

/** Counts the slots of untaken tasks; `countUntaken`: the tasks that an agent has not taken. */
export function countUntakenSlots(
  { all }: Pick<AgentIndex, 'all'>,
  countUntaken: (agent_id: string) => number,
): UntakenSlots {
  const byTag = new Map<string, number>();
  let total = 0;
  for (const candidate of all().filter(isFailing)) {
    const { agent_id, agent_tags } = candidate.record;
    const slots = Math.min(countUntaken(agent_id), candidate.slots);
    total += slots;
    for (const tag of new Set(agent_tags)) byTag.set(tag, (byTag.get(tag) ?? 0) + slots);
  }
  return { total, byTag };
}

/** By tag: how many tasks of these steps ended without an agent. */
function countNoAgent(steps: readonly ActivityStep[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { noAgent } of steps) {
    for (const [tag, count] of noAgent) counts.set(tag, (counts.get(tag) ?? 0) + count);
  }
  return counts;
}

/** Whether tasks ask for the tag and no agent would get one. */
export function lacksAgent({ waiting, no_agent, eligible }: TagDemand): boolean {
  return waiting + no_agent > 0 && eligible === 0;
}

/** Whether tasks wait for the tag and no agent that takes its pushes has a free slot. */
export function isTagFull({ waiting, eligible, free, unusable, not_taken }: TagDemand): boolean {
  return waiting > 0 && eligible > 0 && free - (unusable - not_taken) <= 0;
}

/** Whether no task asks for the tag now, and all agents that have it are draining or offline. */
export function isUnserved(row: TagDemand): boolean {
  return row.agents > 0 && row.eligible === 0 && !lacksAgent(row);
}

function compareNeed(a: TagDemand, b: TagDemand): number {
  return (
    rankNeed(a) - rankNeed(b) ||
    (a.oldest_create_time ?? Number.POSITIVE_INFINITY) - (b.oldest_create_time ?? Number.POSITIVE_INFINITY) ||
    b.no_agent - a.no_agent ||
    b.used - a.used ||
    (a.tag < b.tag ? -1 : 1)
  );
}

function rankNeed(row: TagDemand): number {
  if (lacksAgent(row)) return 0;
  if (isTagFull(row)) return 1;
  if (row.waiting > 0) return 2;
  return isUnserved(row) ? 3 : 4;
}
