/** Counts the agents of the index by state and condition, and their slots, one change at a time. */
import { type AgentState, agentState } from '../../../domain/agent.ts';
import { type Candidate, isFailing } from '../../../domain/match.ts';
import { findObstacle } from '../../../domain/task-match.ts';
import type { AgentFigures } from '../../../ports/figures.ts';

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
  let unusableSlots = 0;
  let full = 0;
  let failing = 0;
  return {
    count(candidate, change) {
      const { record, slots } = candidate;
      const free = Math.max(0, record.limit - slots);
      const fails = isFailing(candidate);
      usedSlots += change * slots;
      freeSlots += change * free;
      if (fails) unusableSlots += change * free;
      if (record.unregisteredMs !== null) return;
      states[agentState(record, slots)] += change;
      if (findObstacle(candidate) === 'full') full += change;
      if (fails) failing += change;
    },
    figures: () => ({ states: { ...states }, full, failing, usedSlots, freeSlots, unusableSlots }),
  };
}
