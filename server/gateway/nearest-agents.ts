/**
 * Which agents qualify for a set of tags, and which are the nearest to it. It looks at the copy of the agents
 * that ranks them, never at all of them: its cost grows with the number of distinct tag sets that share a
 * tag, as that of a match does, and beside that with the twenty agents it names.
 *
 *   share a tag    more shared tags first; then those that get the task, the full, the draining, the offline
 *   share no tag   at most five: those with a similar tag first, then any; for a decision any: similar
 *                  tags are looked for only where they are read
 */
import type { Candidate } from '../domain/match.ts';
import {
  describeMatchAgent,
  MATCH_AGENTS_MAX,
  type MatchAgent,
  type MatchCounts,
  type MatchedTask,
  type MatchTag,
  type Obstacle,
  type TagSupply,
  type TaskMatch,
  UNRELATED_MAX,
} from '../domain/task-match.ts';
import type { AgentGroup, AgentGroups } from './agent-groups.ts';

/** From the least obstacle to the greatest. */
const OBSTACLES: readonly Obstacle[] = ['full', 'draining', 'offline'];
/** Groups that are looked at for agents without a shared tag. */
const UNRELATED_GROUPS_MAX = 100;

/** Describes the match of these tags. */
export function matchAgents(
  groups: AgentGroups,
  tags: readonly string[],
  task: MatchedTask,
  { nowMs, live }: { readonly nowMs: number; readonly live: boolean },
): TaskMatch {
  const sharing = groups.share(tags);
  const counted = [...new Set(tags)].map((tag) => ({ ...countSupply(groups, tag), similar: null }));
  const supplies = live ? addSimilarTags(groups, counted) : counted;
  const nearest = takeNearest(groups, sortByShared(sharing), MATCH_AGENTS_MAX);
  const similar = groups.share(supplies.flatMap((supply) => supply.similar?.tag ?? []));
  const unrelated = takeUnrelated(groups, new Set(sharing.keys()), similar);
  const agents = [...nearest, ...unrelated.slice(0, MATCH_AGENTS_MAX - nearest.length)].map((candidate) =>
    describeMatchAgent(candidate, tags, task),
  );
  return {
    time: nowMs / 1_000,
    live,
    agents_total: groups.registered(),
    sharing: countSharing(sharing.keys(), agents),
    tags: supplies,
    agents,
  };
}

/** Names the nearest tag that agents have now for each of these that no agent has. */
export function addSimilarTags(groups: AgentGroups, tags: readonly MatchTag[]): readonly MatchTag[] {
  const missing = tags.filter(({ agents }) => agents === 0).map(({ tag }) => tag);
  const similar = groups.findSimilarTags(missing);
  return tags.map((one) => {
    const found = similar.get(one.tag);
    return found === undefined ? one : { ...one, similar: countSupply(groups, found) };
  });
}

function countSupply(groups: AgentGroups, tag: string): TagSupply {
  let agents = 0;
  let free = 0;
  for (const group of groups.share([tag]).keys()) {
    agents += countGroup(group);
    free += group.free.size - group.failingFree;
  }
  return { tag, agents, free };
}

/** Registered agents of a group. */
function countGroup(group: AgentGroup): number {
  return OBSTACLES.reduce((sum, obstacle) => sum + countKept(group, obstacle), group.free.size);
}

function countKept({ kept }: AgentGroup, obstacle: Obstacle): number {
  return kept[obstacle]?.size ?? 0;
}

/**
 * Agents that the task is not offered to are among those that are named: they are few. One that something
 * else keeps from it too is counted under that.
 */
function countSharing(groups: Iterable<AgentGroup>, named: readonly MatchAgent[]): MatchCounts {
  const counts = { agents: 0, eligible: 0, full: 0, draining: 0, offline: 0 };
  for (const group of groups) {
    counts.agents += countGroup(group);
    counts.eligible += group.free.size;
    for (const obstacle of OBSTACLES) counts[obstacle] += countKept(group, obstacle);
  }
  const skipped = named.filter(
    ({ reason, full, state }) =>
      reason === 'refused_this_task' ||
      (reason === 'has_this_task' && !full && state !== 'draining' && state !== 'offline'),
  );
  return { ...counts, eligible: Math.max(0, counts.eligible - skipped.length) };
}

/** The groups in lists of equally many shared tags, most first. */
function sortByShared(sharing: ReadonlyMap<AgentGroup, number>): readonly (readonly AgentGroup[])[] {
  const byShared: AgentGroup[][] = [];
  for (const [group, shared] of sharing) {
    const list = byShared[shared] ?? [];
    list.push(group);
    byShared[shared] = list;
  }
  return byShared.filter((list) => list !== undefined).reverse();
}

/** The first agents of these lists: of each list the free ones, then the others by their obstacle. */
function takeNearest(
  groups: AgentGroups,
  lists: readonly (readonly AgentGroup[])[],
  max: number,
): readonly Candidate[] {
  const taken: Candidate[] = [];
  for (const list of lists) {
    for (const candidate of listCandidates(groups, list)) {
      taken.push(candidate);
      if (taken.length === max) return taken;
    }
  }
  return taken;
}

function* listCandidates(groups: AgentGroups, list: readonly AgentGroup[]): Generator<Candidate> {
  for (const { free } of list) yield* free.keys();
  for (const obstacle of OBSTACLES) {
    for (const { kept } of list) {
      for (const agent_id of kept[obstacle] ?? []) {
        const candidate = groups.get(agent_id);
        if (candidate) yield candidate;
      }
    }
  }
}

function takeUnrelated(
  groups: AgentGroups,
  related: ReadonlySet<AgentGroup>,
  similar: ReadonlyMap<AgentGroup, number>,
): readonly Candidate[] {
  const others: AgentGroup[] = [];
  for (const group of groups.all()) {
    if (!related.has(group) && !similar.has(group)) others.push(group);
    if (others.length === UNRELATED_GROUPS_MAX) break;
  }
  const alike = [...similar.keys()].filter((group) => !related.has(group));
  return takeNearest(groups, [alike, others], UNRELATED_MAX);
}
