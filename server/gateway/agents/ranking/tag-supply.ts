/**
 * The agents and slots of each tag, counted as agents change, and which tags are used and which are served by
 * no agent. A reading looks at this many tags at most.
 */
import { type Candidate, isFailing, isFree } from '../../../domain/match.ts';
import { findObstacle } from '../../../domain/task-match.ts';

/** Agents, and their slots. */
export type Counts = {
  /** Registered agents. */
  agents: number;
  /** Agents that would get a task now. */
  free: number;
  /** Of these: those that do not take their pushes. */
  failingFree: number;
  full: number;
  draining: number;
  offline: number;
  /** Slots that tasks hold. */
  usedSlots: number;
  /** Slots that could be granted now. */
  freeSlots: number;
  /** Of the free slots: those of agents that do not take their pushes. */
  unusableSlots: number;
};

export type TagUse = {
  /** Changes the counts of a tag, as `changeCounts()`, and with them its use. */
  change(tag: string, counts: Counts, before: Candidate | undefined, after: Candidate | undefined): void;
  /** How many tags agents have. */
  tagCount(): number;
  /** The tags of agents, those with most used slots first: of very many tags 5,000, those in use first. */
  byUse(): readonly string[];
  /** At most this many of the tags whose agents are all draining or offline. */
  unserved(limit: number): readonly string[];
};

/** This many tags are sorted by their use. */
const SORTED_MAX = 5_000;

/** Creates the use of tags, without tags. */
export function createTagUse(): TagUse {
  /** The tags whose agents hold slots, those whose agents hold none, and those without an agent online. */
  const used = new Map<string, Readonly<Counts>>();
  const unused = new Map<string, Readonly<Counts>>();
  const unserved = new Set<string>();

  return {
    change(tag, counts, before, after) {
      const useBefore = findUse(counts);
      const wasUnserved = isUnserved(counts);
      changeCounts(counts, before, after);
      const use = findUse(counts);
      if (use !== useBefore) {
        used.delete(tag);
        unused.delete(tag);
        if (use !== null) (use === 'used' ? used : unused).set(tag, counts);
      }
      if (wasUnserved && !isUnserved(counts)) unserved.delete(tag);
      if (!wasUnserved && isUnserved(counts)) unserved.add(tag);
    },
    tagCount: () => used.size + unused.size,
    byUse() {
      const tags = [...takeFirst(used, SORTED_MAX)];
      tags.push(...takeFirst(unused, SORTED_MAX - tags.length));
      return tags.sort(compareUse).map(([tag]) => tag);
    },
    unserved: (limit) => [...takeFirst(unserved, limit)],
  };
}

/** Counts of nothing. */
export function createCounts(): Counts {
  return {
    agents: 0,
    free: 0,
    failingFree: 0,
    full: 0,
    draining: 0,
    offline: 0,
    usedSlots: 0,
    freeSlots: 0,
    unusableSlots: 0,
  };
}

/** Counts that an agent changed; without one before it is new, without one after gone. */
export function changeCounts(
  counts: Counts,
  before: Candidate | undefined,
  after: Candidate | undefined,
): void {
  if (before) addCandidate(counts, before, -1);
  if (after) addCandidate(counts, after, 1);
}

/** Adds an agent, or takes it out as it was added. */
function addCandidate(counts: Counts, candidate: Candidate, change: 1 | -1): void {
  const { record, slots } = candidate;
  const freeSlots = Math.max(0, record.limit - slots);
  const fails = isFailing(candidate);
  counts.usedSlots += change * slots;
  counts.freeSlots += change * freeSlots;
  if (fails) counts.unusableSlots += change * freeSlots;
  if (isFree(candidate)) {
    counts.free += change;
    if (fails) counts.failingFree += change;
  }
  if (record.unregisteredMs !== null) return;
  counts.agents += change;
  const obstacle = findObstacle(candidate);
  if (obstacle !== null) counts[obstacle] += change;
}

function findUse({ agents, usedSlots }: Counts): 'used' | 'unused' | null {
  if (usedSlots > 0) return 'used';
  return agents > 0 ? 'unused' : null;
}

function isUnserved({ agents, free, full }: Counts): boolean {
  return agents > 0 && free + full === 0;
}

function* takeFirst<T>(all: Iterable<T>, max: number): Generator<T> {
  let left = max;
  for (const one of all) {
    if (left === 0) return;
    left -= 1;
    yield one;
  }
}

type Use = readonly [tag: string, counts: Readonly<Counts>];

function compareUse([tagA, a]: Use, [tagB, b]: Use): number {
  return b.usedSlots - a.usedSlots || (tagA < tagB ? -1 : tagA > tagB ? 1 : 0);
}
