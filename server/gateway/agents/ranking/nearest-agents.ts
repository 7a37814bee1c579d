/**
 * Explains which agents qualify for a set of tags, and which come nearest. It reads the copy of the agents:
 * the counts of the tags, and some hundreds of agents, beginning with the rarest tag.
 *
 *   share a tag    more shared tags first; then eligible, full, draining and offline agents, in this order
 *   share no tag   at most five that have a tag similar to one that no agent has, and only if `live`.
 *                  The others are only counted
 */
import { type Candidate, compareCandidates } from '../../../domain/match.ts';
import {
  describeMatchAgent,
  findObstacle,
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
import { findSimilarTags } from './similar-tags.ts';
import { createCounts } from './tag-supply.ts';
import { FREEDOMS, type IndexedTag, type Sharing, type TaggedAgents } from './tagged-agents.ts';

const OBSTACLES: readonly (Obstacle | null)[] = [null, 'full', 'draining', 'offline'];
/** How many agents of each freedom are looked at. */
const LOOKED_AT_MAX = 500;
/** How many agents of each freedom are looked at for similar tags. */
const UNRELATED_LOOKED_AT_MAX = 100;

export function matchAgents(
  agents: TaggedAgents,
  tags: readonly string[],
  task: MatchedTask,
  { nowMs, live }: { readonly nowMs: number; readonly live: boolean },
): TaskMatch {
  const counted = [...new Set(tags)].map((tag) => ({ ...countSupply(agents, tag), similar: null }));
  const supplies = live ? addSimilarTags(agents, counted) : counted;
  const nearest = takeNearest(agents.look(tags, FREEDOMS, LOOKED_AT_MAX), MATCH_AGENTS_MAX);
  const unrelated = takeUnrelated(agents, supplies);
  const named = [...nearest, ...unrelated.slice(0, MATCH_AGENTS_MAX - nearest.length)].map((candidate) =>
    describeMatchAgent(candidate, tags, task),
  );
  return {
    time: nowMs / 1_000,
    live,
    agents_total: agents.counts.agents,
    sharing: countSharing(agents, tags, named),
    tags: supplies,
    agents: named,
  };
}

/** Adds the most similar tag of an agent wherever no agent has the tag. */
export function addSimilarTags(agents: TaggedAgents, tags: readonly MatchTag[]): readonly MatchTag[] {
  const missing = tags.filter((one) => one.agents === 0).map(({ tag }) => tag);
  const similar = findSimilarTags(listServed(agents), missing);
  return tags.map((one) => {
    const found = similar.get(one.tag);
    return found === undefined ? one : { ...one, similar: countSupply(agents, found) };
  });
}

/** Lists the tags that registered agents have. */
export function listServed(agents: TaggedAgents): readonly IndexedTag[] {
  return [...agents.tags()].filter(({ counts }) => counts.agents > 0);
}

function countSupply(all: TaggedAgents, tag: string): TagSupply {
  const { agents, free, failingFree } = all.find(tag)?.counts ?? createCounts();
  return { tag, agents, free: free - failingFree };
}

/**
 * Counts the agents that share a tag. An agent may not be eligible for this task, such as its present one;
 * then it is not counted as eligible. If it is full, draining or offline, it is counted there. All such
 * agents are among the named ones, because there are few.
 */
function countSharing(all: TaggedAgents, tags: readonly string[], named: readonly MatchAgent[]): MatchCounts {
  const { agents, free, full, draining, offline } = all.countSharing(tags);
  const skipped = named.filter(
    ({ reason, full, state }) =>
      reason === 'refused_this_task' ||
      (reason === 'has_this_task' && !full && state !== 'draining' && state !== 'offline'),
  );
  return { agents, eligible: Math.max(0, free - skipped.length), full, draining, offline };
}

/** Takes the nearest agents: by shared tags, then by obstacle, then in the order in which tasks choose. */
function takeNearest(sharing: readonly Sharing[], max: number): readonly Candidate[] {
  const rank = (candidate: Candidate): number => OBSTACLES.indexOf(findObstacle(candidate));
  return sharing
    .filter(({ candidate }) => candidate.record.unregisteredMs === null)
    .sort(
      (a, b) =>
        b.shared - a.shared ||
        rank(a.candidate) - rank(b.candidate) ||
        compareCandidates(a.candidate, b.candidate),
    )
    .slice(0, max)
    .map(({ candidate }) => candidate);
}

/** Takes agents that share no tag, but have one similar to a tag without agents. */
function takeUnrelated(agents: TaggedAgents, tags: readonly MatchTag[]): readonly Candidate[] {
  const wanted = new Set(tags.map(({ tag }) => tag));
  const similar = tags.flatMap((one) => one.similar?.tag ?? []);
  const alike = agents
    .look(similar, FREEDOMS, UNRELATED_LOOKED_AT_MAX)
    .filter(({ candidate }) => candidate.record.agent_tags.every((tag) => !wanted.has(tag)));
  return takeNearest(alike, UNRELATED_MAX);
}
