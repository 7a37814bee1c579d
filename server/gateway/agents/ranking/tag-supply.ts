/**
 * Counts agents by what keeps them from tasks, and counts their slots. The counts follow each change of an
 * agent.
 */
import { type Candidate, isFailing, isFree } from '../../../domain/match.ts';
import { findObstacle } from '../../../domain/task-match.ts';

export type Counts = {
  agents: number;
  /** Agents that would get a task now. */
  free: number;
  /** Free agents that did not take their last push. */
  failingFree: number;
  full: number;
  draining: number;
  offline: number;
  /** Slots that tasks hold. */
  usedSlots: number;
  /** Slots that could be granted now. */
  freeSlots: number;
  /** Free slots of agents that do not take their pushes. */
  unusableSlots: number;
};

export function createCounts(): Counts {
  return {
    agents: 0,
    free: 0,
    failingFree: 0,
    full: 0,
    draining: 0,
    offline: 0,
    usedSlots: 0,
    freeSlots: 0,
    unusableSlots: 0,
  };
}

/** Applies the change of one agent. `before` is undefined for a new agent, `after` for a removed one. */
export function changeCounts(
  counts: Counts,
  before: Candidate | undefined,
  after: Candidate | undefined,
): void {
  if (before) addCandidate(counts, before, -1);
  if (after) addCandidate(counts, after, 1);
}

/** Adds an agent to the counts, or subtracts it. */
function addCandidate(counts: Counts, candidate: Candidate, change: 1 | -1): void {
  const { record, slots } = candidate;
  const freeSlots = Math.max(0, record.limit - slots);
  const fails = isFailing(candidate);
  counts.usedSlots += change * slots;
  counts.freeSlots += change * freeSlots;
  if (fails) counts.unusableSlots += change * freeSlots;
  if (isFree(candidate)) {
    counts.free += change;
    if (fails) counts.failingFree += change;
  }
  if (record.unregisteredMs !== null) return;
  counts.agents += change;
  const obstacle = findObstacle(candidate);
  if (obstacle !== null) counts[obstacle] += change;
}
