/**
 * A match as it is stored with a task that failed for want of an agent: the agents that the decision saw. The
 * record consists of arrays, and has an index into the task's tags for each tag. So a match of twenty agents
 * takes about 2 KiB. Similar tags are not stored, because the decision does not look for any. Stored names
 * are frozen.
 */
import type { AgentState } from './agent.ts';
import type { MatchAgent, MatchReason, TaskMatch } from './task-match.ts';

type AgentEntry = readonly [
  agent_id: string,
  sharedIndexes: readonly number[],
  state: AgentState,
  reason: MatchReason,
  flags: number,
  max_concurrent: number,
  current_load: number,
  contactMs: number,
];
/** How many agents have the tag, and how many of these are free. */
type TagEntry = readonly [agents: number, free: number];

export type MatchRecord = {
  readonly ms: number;
  readonly total: number;
  /** agents, eligible, full, draining, offline */
  readonly sharing: readonly [number, number, number, number, number];
  readonly tags: readonly TagEntry[];
  readonly agents: readonly AgentEntry[];
};

const FULL = 1;
const PUSH_FAILING = 2;
const DRAINED_BY_OPERATOR = 4;

export function encodeMatch(match: TaskMatch, task_tags: readonly string[]): MatchRecord {
  const { agents, eligible, full, draining, offline } = match.sharing;
  return {
    ms: Math.round(match.time * 1_000),
    total: match.agents_total,
    sharing: [agents, eligible, full, draining, offline],
    tags: match.tags.map(({ agents, free }) => [agents, free]),
    agents: match.agents.map((agent) => [
      agent.agent_id,
      agent.shared_tags.map((tag) => task_tags.indexOf(tag)),
      agent.state,
      agent.reason,
      (agent.full ? FULL : 0) +
        (agent.push_failing ? PUSH_FAILING : 0) +
        (agent.drained_by_operator ? DRAINED_BY_OPERATOR : 0),
      agent.max_concurrent,
      agent.current_load,
      Math.round(agent.last_contact_time * 1_000),
    ]),
  };
}

/** `task_tags` must be those that the match was encoded with. */
export function decodeMatch(record: MatchRecord, task_tags: readonly string[]): TaskMatch {
  const [agents, eligible, full, draining, offline] = record.sharing;
  const distinct = [...new Set(task_tags)];
  return {
    time: record.ms / 1_000,
    live: false,
    agents_total: record.total,
    sharing: { agents, eligible, full, draining, offline },
    tags: record.tags.map(([agents, free], index) => ({
      tag: distinct[index] ?? '',
      agents,
      free,
      similar: null,
    })),
    agents: record.agents.map((entry) => decodeAgent(entry, task_tags)),
  };
}

function decodeAgent(entry: AgentEntry, task_tags: readonly string[]): MatchAgent {
  const [agent_id, shared, state, reason, flags, max_concurrent, current_load, contactMs] = entry;
  return {
    agent_id,
    shared_tags: shared.flatMap((index) => task_tags[index] ?? []),
    state,
    drained_by_operator: (flags & DRAINED_BY_OPERATOR) !== 0,
    full: (flags & FULL) !== 0,
    eligible: reason === 'eligible',
    reason,
    push_failing: (flags & PUSH_FAILING) !== 0,
    max_concurrent,
    current_load,
    last_contact_time: contactMs / 1_000,
  };
}
