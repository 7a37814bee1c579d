/**
 * Demand and supply of each tag, for the overview: the tasks that wait for the tag or ended without an agent,
 * and the slots of its agents. Tags come first, by need, if tasks ask for them or no agent serves them. The
 * other tags follow, by use.
 */
import type { ActivityStep } from '../../../domain/activity.ts';
import { isFailing } from '../../../domain/match.ts';
import type { TaskCounts } from '../../../domain/task-counts.ts';
import type { TagDemand } from '../../../ports/admin.ts';
import type { Demand } from '../../../ports/store.ts';
import type { AgentIndex } from '../../agents/ranking/agent-index.ts';
import { createCounts } from '../../agents/ranking/tag-supply.ts';
import type { IndexedTag } from '../../agents/ranking/tagged-agents.ts';

export type TagSources = {
  readonly counts: TaskCounts & Demand;
  readonly steps: readonly ActivityStep[];
  readonly untaken: UntakenSlots;
};

/** Slots held by tasks that failing agents have not taken: in total, and by tag. */
export type UntakenSlots = { readonly total: number; readonly byTag: ReadonlyMap<string, number> };

export type TagTable = {
  /** Sorted by need. */
  readonly rows: readonly TagDemand[];
  /** How many tags exist, whether or not they have a row. */
  readonly total: number;
};

/** Builds the rows of the tags by need, at most `tagsMax`. */
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
  const { names, total } = chooseTags(agentIndex.tags(), asked, tagsMax);
  const rows = [...asked, ...names].map(describe).sort(compareNeed).slice(0, tagsMax);
  return { rows, total };
}

const NONE = createCounts();
/** At most this many tags are sorted by use. */
const SORTED_MAX = 5_000;

/** Chooses among tags that no task asks for: first the unserved ones, then at most `max` by use. */
function chooseTags(
  tags: Iterable<IndexedTag>,
  asked: ReadonlySet<string>,
  max: number,
): { readonly names: readonly string[]; readonly total: number } {
  const unserved: string[] = [];
  const used: IndexedTag[] = [];
  const idle: IndexedTag[] = [];
  let total = asked.size;
  for (const one of tags) {
    const { agents, usedSlots, free, full } = one.counts;
    if (agents + usedSlots === 0 || asked.has(one.tag)) continue;
    total += 1;
    if (agents > 0 && free + full === 0) unserved.push(one.tag);
    else (usedSlots > 0 ? used : idle).push(one);
  }
  const sorted = [...used, ...idle].slice(0, SORTED_MAX).sort(compareUse).slice(0, max);
  return { names: [...unserved.slice(0, max), ...sorted.map(({ tag }) => tag)], total };
}

function compareUse(a: IndexedTag, b: IndexedTag): number {
  return b.counts.usedSlots - a.counts.usedSlots || (a.tag < b.tag ? -1 : 1);
}

/** Counts the slots of untaken tasks. `countUntaken` says how many tasks an agent has not taken. */
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

/** Counts, for each tag, the tasks that ended without an agent within these steps. */
function countNoAgent(steps: readonly ActivityStep[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { noAgent } of steps) {
    for (const [tag, count] of noAgent) counts.set(tag, (counts.get(tag) ?? 0) + count);
  }
  return counts;
}

/** Whether tasks ask for the tag and no agent is eligible. */
export function lacksAgent({ waiting, no_agent, eligible }: TagDemand): boolean {
  return waiting + no_agent > 0 && eligible === 0;
}

/**
 * Whether tasks wait for the tag although it has eligible agents, because no agent that takes its pushes has
 * a free slot.
 */
export function isTagFull({ waiting, eligible, free, unusable, not_taken }: TagDemand): boolean {
  return waiting > 0 && eligible > 0 && free - (unusable - not_taken) <= 0;
}

/** Whether agents have the tag, none of them is eligible, and no task asks for it. */
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
