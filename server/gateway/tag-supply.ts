/**
 * What the agents with each tag have: how many there are, their slots that are used and free. Each
 * group of agents with equal tags is counted as its agents change, which costs the same however many tags
 * they have. The tags of the groups that have changed are counted anew at the next reading: so that
 * costs what has changed since the one before, not what there is.
 */
import BTreeModule from 'sorted-btree';
import type { Candidate } from '../domain/match.ts';
import { isFailing } from '../domain/match.ts';

const BTree = BTreeModule.default;

/** The agents with a tag, and their slots. */
type TagSupply = {
  /** Registered agents. */
  readonly agents: number;
  /** Of these: neither draining nor offline; full ones are counted. */
  readonly eligible: number;
  /** Slots that tasks hold. */
  readonly used: number;
  /** Slots that could be granted now. */
  readonly free: number;
  /** Of the free ones: those of agents that do not take their pushes. */
  readonly unusableFree: number;
};

type Counts = { -readonly [K in keyof TagSupply]: TagSupply[K] };

/** The counts of one group: as they are, and as they were when its tags were counted last. */
export type GroupSupply = { readonly tags: readonly string[]; readonly now: Counts; readonly seen: Counts };

export type TagSupplies = {
  /** Adds an agent of the group, or takes it out as it was added. */
  count(group: GroupSupply, candidate: Candidate, change: 1 | -1): void;
  clear(): void;
  /** Undefined when no agent has the tag. */
  find(tag: string): TagSupply | undefined;
  /** How many tags agents have. */
  tagCount(): number;
  /** The tags of agents, those with most used slots first. */
  byUse(): Iterable<string>;
  /** At most so many of the tags whose agents are all draining or offline, by name. */
  unserved(limit: number): readonly string[];
};

/** Creates the counts of a group with these tags, each once. */
export function createGroupSupply(tags: readonly string[]): GroupSupply {
  return { tags, now: createCounts(), seen: createCounts() };
}

/** Creates it without tags. */
export function createTagSupplies(): TagSupplies {
  const changed = new Set<GroupSupply>();
  const byTag = new Map<string, Counts>();
  const order = new BTree<readonly [used: number, tag: string], undefined>(undefined, compareUse);
  const unserved = new BTree<string, undefined>();

  function addToTag(tag: string, { now, seen }: GroupSupply): void {
    const counts = byTag.get(tag);
    if (counts) order.delete([counts.used, tag]);
    const next = counts ?? createCounts();
    for (const name of NAMES) next[name] += now[name] - seen[name];
    if (next.agents > 0 && next.eligible === 0) unserved.set(tag, undefined);
    else unserved.delete(tag);
    if (NAMES.every((name) => next[name] === 0)) {
      byTag.delete(tag);
      return;
    }
    byTag.set(tag, next);
    order.set([next.used, tag], undefined);
  }

  /** Counts the tags of the groups that have changed. */
  function update(): void {
    for (const group of changed) {
      if (NAMES.some((name) => group.now[name] !== group.seen[name])) {
        for (const tag of group.tags) addToTag(tag, group);
        Object.assign(group.seen, group.now);
      }
    }
    changed.clear();
  }

  return {
    count(group, candidate, change) {
      addCandidate(group.now, candidate, change);
      changed.add(group);
    },
    clear() {
      changed.clear();
      byTag.clear();
      order.clear();
      unserved.clear();
    },
    find(tag) {
      update();
      return byTag.get(tag);
    },
    tagCount() {
      update();
      return byTag.size;
    },
    unserved(limit) {
      update();
      const tags: string[] = [];
      for (const tag of unserved.keys()) {
        if (tags.length === limit) break;
        tags.push(tag);
      }
      return tags;
    },
    *byUse() {
      update();
      for (const [, tag] of order.keys()) yield tag;
    },
  };
}

const NAMES = ['agents', 'eligible', 'used', 'free', 'unusableFree'] as const;

function createCounts(): Counts {
  return { agents: 0, eligible: 0, used: 0, free: 0, unusableFree: 0 };
}

function addCandidate(counts: Counts, candidate: Candidate, change: 1 | -1): void {
  const { record, slots } = candidate;
  const free = Math.max(0, record.limit - slots);
  counts.used += change * slots;
  counts.free += change * free;
  if (isFailing(candidate)) counts.unusableFree += change * free;
  if (record.unregisteredMs !== null) return;
  counts.agents += change;
  if (!record.draining && record.offlineMs === null) counts.eligible += change;
}

type Use = readonly [used: number, tag: string];

function compareUse([usedA, tagA]: Use, [usedB, tagB]: Use): number {
  return usedB - usedA || (tagA < tagB ? -1 : tagA > tagB ? 1 : 0);
}
