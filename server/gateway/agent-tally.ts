/** Counts the agents of the index by state, and their slots, one change at a time. */
import { type AgentState, agentState } from '../domain/agent.ts';
import type { Candidate } from '../domain/match.ts';
import type { AgentFigures } from '../ports/figures.ts';

export type AgentTally = {
  /** Adds an agent, or takes it out as it was added. */
  count(candidate: Candidate, change: 1 | -1): void;
  figures(): AgentFigures;
};

/** Creates it without agents. */
export function createAgentTally(): AgentTally {
  const states: Record<AgentState, number> = { ready: 0, processing: 0, draining: 0, offline: 0 };
  let usedSlots = 0;
  let freeSlots = 0;
  return {
    count({ record, slots }, change) {
      usedSlots += change * slots;
      freeSlots += change * Math.max(0, record.limit - slots);
      if (record.unregisteredMs === null) states[agentState(record, slots)] += change;
    },
    figures: () => ({ states: { ...states }, usedSlots, freeSlots }),
  };
}
