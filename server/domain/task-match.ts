/**
 * Which agents qualify for a set of tags, in the shape of the contract: the verdict on each of the nearest
 * agents, and counts of all. Pure. `gateway/agents/ranking/nearest-agents.ts` chooses the agents.
 */
import { type AgentState, agentLoad, agentState, isDraining, isFull } from './agent.ts';
import { type Candidate, isFailing } from './match.ts';

/** What keeps an agent from every task. */
export type Obstacle = 'full' | 'draining' | 'offline';

export type MatchReason = 'eligible' | 'no_shared_tag' | 'refused_this_task' | 'has_this_task' | Obstacle;

/** An agent and whether it qualifies. Times are epoch seconds. */
export type MatchAgent = {
  readonly agent_id: string;
  readonly shared_tags: readonly string[];
  readonly state: AgentState;
  readonly drained_by_operator: boolean;
  readonly full: boolean;
  readonly eligible: boolean;
  readonly reason: MatchReason;
  readonly push_failing: boolean;
  readonly max_concurrent: number;
  readonly current_load: number;
  readonly last_contact_time: number;
};

export type TagSupply = { readonly tag: string; readonly agents: number; readonly free: number };
/** `similar` is set if no agent has the tag, but agents have a similar tag. */
export type MatchTag = TagSupply & { readonly similar: TagSupply | null };

export type MatchCounts = { readonly agents: number; readonly eligible: number } & {
  readonly [O in Obstacle]: number;
};

export type TaskMatch = {
  readonly time: number;
  readonly live: boolean;
  readonly agents_total: number;
  readonly sharing: MatchCounts;
  readonly tags: readonly MatchTag[];
  readonly agents: readonly MatchAgent[];
};

/** The agents to which a task is not offered now. */
export type MatchedTask = {
  /** The agent to which the task is assigned. */
  readonly present: string | null;
  /** Agents that lately responded busy to the task. */
  readonly refused: ReadonlySet<string>;
};

/** For a preview, which is about no task. */
export const ANY_TASK: MatchedTask = { present: null, refused: new Set() };

/** How many agents a match has at most, including those that share no tag. */
export const MATCH_AGENTS_MAX = 20;
/** How many of the agents in a match may share no tag. */
export const UNRELATED_MAX = 5;
const SHARED_TAGS_MAX = 8;

/** What keeps a registered agent from every task; null if nothing does. */
export function findObstacle({ record, slots }: Pick<Candidate, 'record' | 'slots'>): Obstacle | null {
  if (record.offlineMs !== null) return 'offline';
  if (isDraining(record)) return 'draining';
  return slots < record.limit ? null : 'full';
}

export function describeMatchAgent(
  candidate: Candidate,
  tags: readonly string[],
  { present, refused }: MatchedTask,
): MatchAgent {
  const { record, slots, contact } = candidate;
  const { agent_id } = record;
  const own = new Set(record.agent_tags);
  const shared = [...new Set(tags)].filter((tag) => own.has(tag));
  const obstacle = findObstacle(candidate);
  const kept = obstacle ?? (refused.has(agent_id) ? 'refused_this_task' : 'eligible');
  // The task's own agent is never eligible. It may be full because of this very task, so `full` is not the
  // reason.
  const reason = shared.length === 0 ? 'no_shared_tag' : agent_id === present ? 'has_this_task' : kept;
  return {
    agent_id,
    shared_tags: shared.slice(0, SHARED_TAGS_MAX),
    state: agentState(record, slots),
    drained_by_operator: record.drained_by_operator ?? false,
    full: isFull(record, slots),
    eligible: reason === 'eligible',
    reason,
    push_failing: isFailing(candidate),
    max_concurrent: record.max_concurrent,
    current_load: agentLoad(record, slots),
    last_contact_time: contact.contactMs / 1_000,
  };
}
