/** Counts of agents, by their obstacle to tasks, and of their slots. They are kept as agents change. */
import { type Candidate, isFailing, isFree } from '../../../domain/match.ts';
import { findObstacle } from '../../../domain/task-match.ts';

/** Agents, and their slots. */
export type Counts = {
  /** Registered agents. */
  agents: number;
  /** Agents that would get a task now. */
  free: number;
  /** Of these: those that do not take their pushes. */
  failingFree: number;
  full: number;
  draining: number;
  offline: number;
  /** Slots that tasks hold. */
  usedSlots: number;
  /** Slots that could be granted now. */
  freeSlots: number;
  /** Of the free slots: those of agents that do not take their pushes. */
  unusableSlots: number;
};

/** Counts of nothing. */
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

/** Counts that an agent changed; without one before it is new, without one after gone. */
export function changeCounts(
  counts: Counts,
  before: Candidate | undefined,
  after: Candidate | undefined,
): void {
  if (before) addCandidate(counts, before, -1);
  if (after) addCandidate(counts, after, 1);
}

/** Adds an agent, or takes it out as it was added. */
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
