/**
 * Which agents qualify for a set of tags, and which are the nearest to it. It looks at the copy of the agents
 * that ranks them: at the counts of the tags, at some hundreds of tag sets, beginning with the rarest tag,
 * and at the twenty agents it names.
 *
 *   share a tag    more shared tags first; then those that get the task, the full, the draining, the offline
 *   share no tag   at most five with the nearest tag to one that no agent has; for a decision none: similar
 *                  tags are looked for only where they are read. The others are a count
 */
import type { Candidate } from '../../../domain/match.ts';
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
} from '../../../domain/task-match.ts';
import type { AgentGroups } from './agent-groups.ts';
import { type AgentGroup, FREEDOMS, type Sharing } from './tag-groups.ts';
import { createCounts } from './tag-supply.ts';

/** From the least obstacle to the greatest. */
const OBSTACLES: readonly Obstacle[] = ['full', 'draining', 'offline'];
/** So many tag sets are looked at: with a free agent that took its last push, without one, … */
const GROUPS_MAX = 500;
/** … and with similar tags. */
const UNRELATED_GROUPS_MAX = 100;

/** Describes the match of these tags. */
export function matchAgents(
  groups: AgentGroups,
  tags: readonly string[],
  task: MatchedTask,
  { nowMs, live }: { readonly nowMs: number; readonly live: boolean },
): TaskMatch {
  const sharing = groups.look(tags, FREEDOMS, GROUPS_MAX);
  const counted = [...new Set(tags)].map((tag) => ({ ...countSupply(groups, tag), similar: null }));
  const supplies = live ? addSimilarTags(groups, counted) : counted;
  const nearest = takeNearest(groups, sortByShared(sharing), MATCH_AGENTS_MAX);
  const unrelated = takeUnrelated(groups, supplies);
  const agents = [...nearest, ...unrelated.slice(0, MATCH_AGENTS_MAX - nearest.length)].map((candidate) =>
    describeMatchAgent(candidate, tags, task),
  );
  return {
    time: nowMs / 1_000,
    live,
    agents_total: groups.registered(),
    sharing: countSharing(groups, tags, agents),
    tags: supplies,
    agents,
  };
}

/** For each of these tags without an agent, names the nearest tag of an agent now. */
export function addSimilarTags(groups: AgentGroups, tags: readonly MatchTag[]): readonly MatchTag[] {
  const missing = tags.filter(({ agents }) => agents === 0).map(({ tag }) => tag);
  const similar = groups.findSimilarTags(missing);
  return tags.map((one) => {
    const found = similar.get(one.tag);
    return found === undefined ? one : { ...one, similar: countSupply(groups, found) };
  });
}

function countSupply(groups: AgentGroups, tag: string): TagSupply {
  const { agents, free, failingFree } = groups.supplies.find(tag) ?? createCounts();
  return { tag, agents, free: free - failingFree };
}

/**
 * When the task is not offered to an agent (its present one, for example), the agent is among the named ones:
 * there are few. If it is also full, draining or offline, it is counted under that.
 */
function countSharing(
  groups: AgentGroups,
  tags: readonly string[],
  named: readonly MatchAgent[],
): MatchCounts {
  const { agents, free, full, draining, offline } = groups.countSharing(tags);
  const skipped = named.filter(
    ({ reason, full, state }) =>
      reason === 'refused_this_task' ||
      (reason === 'has_this_task' && !full && state !== 'draining' && state !== 'offline'),
  );
  return { agents, eligible: Math.max(0, free - skipped.length), full, draining, offline };
}

/** The groups in lists of equally many shared tags, most first. */
function sortByShared(sharing: readonly Sharing[]): readonly (readonly AgentGroup[])[] {
  const byShared: AgentGroup[][] = [];
  for (const { group, shared } of sharing) {
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
    for (const { hindered } of list) {
      for (const agent_id of hindered[obstacle] ?? []) {
        const candidate = groups.get(agent_id);
        if (candidate) yield candidate;
      }
    }
  }
}

/** Agents that share no tag, and have the nearest one to a tag that no agent has. */
function takeUnrelated(groups: AgentGroups, tags: readonly MatchTag[]): readonly Candidate[] {
  const wanted = new Set(tags.map(({ tag }) => tag));
  const similar = tags.flatMap((one) => one.similar?.tag ?? []);
  const alike = groups
    .look(similar, FREEDOMS, UNRELATED_GROUPS_MAX)
    .map(({ group }) => group)
    .filter((group) => group.tags.every(({ tag }) => !wanted.has(tag)));
  return takeNearest(groups, [alike], UNRELATED_MAX);
}
