/**
 * A match as it is stored with the task that it ended: what the decision saw. Arrays, and tags by their index
 * in the task's, so that one of twenty agents takes about 2 KiB. Stored names are frozen.
 */
import type { AgentState } from './agent.ts';
import type { MatchAgent, MatchReason, MatchTag, TagSupply, TaskMatch } from './task-match.ts';

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
type SupplyEntry = readonly [tag: string, agents: number, free: number];
/** How many agents have the tag, how many of them are free, and the similar tag that agents have. */
type TagEntry = readonly [agents: number, free: number, similar?: SupplyEntry];

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

/** The stored form of a match for a task with exactly these tags. */
export function encodeMatch(match: TaskMatch, task_tags: readonly string[]): MatchRecord {
  const { agents, eligible, full, draining, offline } = match.sharing;
  return {
    ms: Math.round(match.time * 1_000),
    total: match.agents_total,
    sharing: [agents, eligible, full, draining, offline],
    tags: match.tags.map(({ agents, free, similar }) =>
      similar ? [agents, free, [similar.tag, similar.agents, similar.free]] : [agents, free],
    ),
    agents: match.agents.map((agent) => [
      agent.agent_id,
      agent.shared_tags.map((tag) => task_tags.indexOf(tag)),
      agent.state,
      agent.reason,
      (agent.full ? FULL : 0) + (agent.push_failing ? PUSH_FAILING : 0),
      agent.max_concurrent,
      agent.current_load,
      Math.round(agent.last_contact_time * 1_000),
    ]),
  };
}

/** The match that was stored with a task of these tags. */
export function decodeMatch(record: MatchRecord, task_tags: readonly string[]): TaskMatch {
  const [agents, eligible, full, draining, offline] = record.sharing;
  const distinct = [...new Set(task_tags)];
  return {
    time: record.ms / 1_000,
    live: false,
    agents_total: record.total,
    sharing: { agents, eligible, full, draining, offline },
    tags: record.tags.map((entry, index) => decodeTag(entry, distinct[index] ?? '')),
    agents: record.agents.map((entry) => decodeAgent(entry, task_tags)),
  };
}

function decodeTag([agents, free, similar]: TagEntry, tag: string): MatchTag {
  return { tag, agents, free, similar: similar ? decodeSupply(similar) : null };
}

function decodeSupply([tag, agents, free]: SupplyEntry): TagSupply {
  return { tag, agents, free };
}

function decodeAgent(entry: AgentEntry, task_tags: readonly string[]): MatchAgent {
  const [agent_id, shared, state, reason, flags, max_concurrent, current_load, contactMs] = entry;
  return {
    agent_id,
    shared_tags: shared.flatMap((index) => task_tags[index] ?? []),
    state,
    full: (flags & FULL) !== 0,
    eligible: reason === 'eligible',
    reason,
    push_failing: (flags & PUSH_FAILING) !== 0,
    max_concurrent,
    current_load,
    last_contact_time: contactMs / 1_000,
  };
}
