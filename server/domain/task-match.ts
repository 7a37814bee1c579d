/**
 * Which agents qualify for a set of tags, as the contract has it: the verdict on each of the nearest, and how
 * many there are of each kind. Pure. The agents are chosen in `gateway/agents/ranking/nearest-agents.ts`.
 */
import { type AgentState, agentLoad, agentState, isDraining, isFull } from './agent.ts';
import { type Candidate, isFailing } from './match.ts';

/** Why an agent gets no task at all, although it shares a tag. */
export type Obstacle = 'full' | 'draining' | 'offline';

export type MatchReason = 'eligible' | 'no_shared_tag' | 'refused_this_task' | 'has_this_task' | Obstacle;

/** An agent, and whether it qualifies. Times are epoch seconds. */
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
/** `similar` is set where no agent has the tag and another one is like it. */
export type MatchTag = TagSupply & { readonly similar: TagSupply | null };

/** How many agents share a tag, and what keeps them from the task. */
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

/** The task for which agents are looked at: those that it is not offered to now. */
export type MatchedTask = {
  /** The agent to which it is assigned. */
  readonly present: string | null;
  /** Agents that responded busy to it lately. */
  readonly refused: ReadonlySet<string>;
};

/** No task: a preview. */
export const ANY_TASK: MatchedTask = { present: null, refused: new Set() };

/** Agents in a match, those included that share no tag. */
export const MATCH_AGENTS_MAX = 20;
/** Of these, agents that share no tag. */
export const UNRELATED_MAX = 5;
const SHARED_TAGS_MAX = 8;

/** Why a registered agent would get no task at all; null if it would get one. */
export function findObstacle({ record, slots }: Pick<Candidate, 'record' | 'slots'>): Obstacle | null {
  if (record.offlineMs !== null) return 'offline';
  if (isDraining(record)) return 'draining';
  return slots < record.limit ? null : 'full';
}

/** Describes an agent for a task with these tags. */
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
  // The agent of the task may be full because of it: this does not keep the task from moving.
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
