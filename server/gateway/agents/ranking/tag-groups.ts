/**
 * The tags that agents have: for each the groups of agents with equal tags, and what its agents have. All
 * counts are kept as agents change, which costs what an agent's own tags cost. A look at groups begins with
 * the rarest tag and ends after this many; of each tag the groups come first whose last grant is longest ago.
 *
 *   taking    the group has a free agent that took its last push
 *   untaken   all its free agents did not take their last push
 *   rest      it has no free agent
 */
import BTreeModule from 'sorted-btree';
import { type Candidate, isFree } from '../../../domain/match.ts';
import type { Obstacle } from '../../../domain/task-match.ts';
import { createSimilarTags, type SimilarTags } from './similar-tags.ts';
import { type Counts, changeCounts, createCounts, createTagUse, type TagUse } from './tag-supply.ts';

const BTree = BTreeModule.default;

export type Freedom = 'taking' | 'untaken' | 'rest';
/** A task goes to the first of them. */
export const FREEDOMS: readonly Freedom[] = ['taking', 'untaken', 'rest'];

/** The free agents of one group, best first. */
export type FreeAgents = InstanceType<typeof BTreeModule.default<Candidate, true>>;

/** The agents with one set of tags: the free ones, and the ids of the other registered ones. */
export type AgentGroup = {
  readonly tags: readonly Tag[];
  readonly free: FreeAgents;
  readonly hindered: { readonly [O in Obstacle]?: ReadonlySet<string> };
  readonly counts: Readonly<Counts>;
  readonly freedom: Freedom;
};

/** A group, and how many of the tags it shares. */
export type Sharing = { readonly group: AgentGroup; readonly shared: number };

/** The look under way puts its number on each tag it has seen. */
type Marked = { mark: number };
type Tag = Marked & {
  readonly tag: string;
  /**
   * By `order`, in a B-tree. A Set of thousands copies all its entries when it grows, and those of all tags
   * would grow in one go.
   */
  readonly groups: { [P in Freedom]?: InstanceType<typeof BTree<number, MarkedGroup>> };
  readonly counts: Counts;
};
/** `order`: its place among equally free groups, one number for all its tags. */
export type MarkedGroup = AgentGroup & Marked & { readonly counts: Counts; freedom: Freedom; order: number };

export type TagGroups = TagUse & {
  /** The tags with these names, for a group about to be added. */
  open(names: readonly string[]): readonly Tag[];
  add(group: MarkedGroup): void;
  remove(group: MarkedGroup): void;
  /**
   * Notes how free the group is now; when one of its agents was granted a task, the group goes behind the
   * equally free ones.
   */
  reorder(group: MarkedGroup, isGranted: boolean): void;
  /** Counts that an agent of the group changed; without one before it is new, without one after gone. */
  count(group: MarkedGroup, before: Candidate | undefined, after: Candidate | undefined): void;
  find(tag: string): Readonly<Counts> | undefined;
  /** Groups that share a tag, those of the rarest tags first: of each freedom at most this many. */
  look(tags: readonly string[], freedoms: readonly Freedom[], max: number): readonly Sharing[];
  /**
   * The counts of the agents with one of the tags. The most common tag is counted already; beside it at most
   * 5,000 groups are looked at, so that beyond these it is at least this much.
   */
  countSharing(tags: readonly string[], agentsMax: number): Readonly<Counts>;
  readonly findSimilarTags: SimilarTags['find'];
};

/** Groups that a count looks at beside those of the most common tag. */
const COUNTED_MAX = 5_000;

/** Creates it without tags. */
export function createTagGroups(): TagGroups {
  const byName = new Map<string, Tag>();
  const similarTags = createSimilarTags();
  const use = createTagUse();
  let mark = 0;
  let lastOrder = 0;

  /** Puts the group behind all equally free ones. */
  function add(group: MarkedGroup, freedom: Freedom): void {
    lastOrder += 1;
    group.freedom = freedom;
    group.order = lastOrder;
    for (const { groups } of group.tags) {
      groups[freedom] ??= new BTree<number, MarkedGroup>();
      groups[freedom].set(lastOrder, group);
    }
  }

  /** The tags with these names, each once. They carry a new mark. */
  function markAll(names: readonly string[]): Tag[] {
    mark += 1;
    const found: Tag[] = [];
    for (const name of names) {
      const tag = byName.get(name);
      if (!tag || tag.mark === mark) continue;
      tag.mark = mark;
      found.push(tag);
    }
    return found;
  }

  return {
    ...use,
    open: (names) =>
      names.map((tag) => {
        const known = byName.get(tag) ?? { tag, groups: {}, counts: createCounts(), mark: 0 };
        byName.set(tag, known);
        return known;
      }),
    add: (group) => add(group, group.freedom),
    remove(group) {
      takeOut(group);
      for (const tag of group.tags) {
        if (FREEDOMS.every((at) => sizeOf(tag, at) === 0)) byName.delete(tag.tag);
      }
    },
    reorder(group, isGranted) {
      const to = findFreedom(group.free.minKey());
      if (to === group.freedom && !isGranted) return;
      takeOut(group);
      add(group, to);
    },
    count(group, before, after) {
      changeCounts(group.counts, before, after);
      for (const { tag, counts } of group.tags) {
        const agentsBefore = counts.agents;
        use.change(tag, counts, before, after);
        if (agentsBefore === 0 && counts.agents > 0) similarTags.add(tag);
        if (agentsBefore > 0 && counts.agents === 0) similarTags.remove(tag);
      }
    },
    find(tag) {
      const counts = byName.get(tag)?.counts;
      return counts && counts.agents + counts.usedSlots > 0 ? counts : undefined;
    },
    look(tags, freedoms, max) {
      const wanted = markAll(tags);
      return freedoms.flatMap((at) => lookAt(wanted, at, max, mark));
    },
    countSharing(tags, agentsMax) {
      const [first, ...others] = markAll(tags).sort((a, b) => b.counts.agents - a.counts.agents);
      const sum = { ...(first?.counts ?? createCounts()) };
      if (!first || sum.agents === agentsMax) return sum;
      addOthers(sum, first, others.reverse(), mark);
      return sum;
    },
    findSimilarTags: similarTags.find,
  };
}

/** How free a group is whose best agent this is. */
export function findFreedom(best: Candidate | undefined): Freedom {
  if (!best || !isFree(best)) return 'rest';
  return best.lastPushUntaken ? 'untaken' : 'taking';
}

function takeOut({ tags, freedom, order }: MarkedGroup): void {
  for (const { groups } of tags) groups[freedom]?.delete(order);
}

/** The groups with this freedom and one of the marked tags. */
function lookAt(wanted: readonly Tag[], at: Freedom, max: number, mark: number): readonly Sharing[] {
  const found: Sharing[] = [];
  const rarest = wanted.filter((tag) => sizeOf(tag, at) > 0).sort((a, b) => sizeOf(a, at) - sizeOf(b, at));
  for (const { groups } of rarest) {
    for (const group of groups[at]?.values() ?? []) {
      if (group.mark === mark) continue;
      group.mark = mark;
      found.push({ group, shared: countMarked(group.tags, mark) });
      if (found.length === max) return found;
    }
  }
  return found;
}

/** Adds what groups of the other tags have that lack the first one. */
function addOthers(sum: Counts, first: Tag, others: readonly Tag[], mark: number): void {
  let left = COUNTED_MAX;
  for (const group of listGroups(others)) {
    if (group.mark !== mark && !group.tags.includes(first)) addCounts(sum, group.counts);
    group.mark = mark;
    left -= 1;
    if (left === 0) break;
  }
}

function* listGroups(tags: readonly Tag[]): Generator<MarkedGroup> {
  for (const { groups } of tags) for (const at of FREEDOMS) yield* groups[at]?.values() ?? [];
}

function sizeOf({ groups }: Tag, at: Freedom): number {
  return groups[at]?.size ?? 0;
}

function countMarked(tags: readonly Marked[], mark: number): number {
  let count = 0;
  for (const tag of tags) if (tag.mark === mark) count += 1;
  return count;
}

function addCounts(sum: Counts, more: Counts): void {
  for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += more[name];
}
