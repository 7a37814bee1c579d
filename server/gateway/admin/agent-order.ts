/**
 * The two orders of the listing of agents: by id, and those in trouble first. A page is taken from all agents
 * in one pass: 20,000 of them take some milliseconds.
 *
 *   trouble   does not take its pushes · offline with tasks · offline · full · draining · none of these
 *
 * Of the offline ones, with or without tasks, the one that went offline last comes first; others by id.
 */
import { type Candidate, isFailing } from '../../domain/match.ts';
import { findObstacle } from '../../domain/task-match.ts';

export type AgentOrder = 'trouble' | 'id';

/** An agent, and its position in an order. */
export type Positioned = { readonly candidate: Candidate; readonly position: string };

/** The first agents behind a position in this order, at most this many. */
export function takeInOrder(
  candidates: Iterable<Candidate>,
  order: AgentOrder,
  after: string | null,
  max: number,
): readonly Positioned[] {
  let taken: Positioned[] = [];
  /** The last one, where there are as many as are wanted. */
  let last: Positioned | undefined;
  const cut = (): void => {
    taken = taken.sort((a, b) => (a.position < b.position ? -1 : 1)).slice(0, max);
    if (taken.length === max) last = taken.at(-1);
  };
  for (const candidate of candidates) {
    if (last && order === 'trouble' && isBehind(candidate, last.candidate)) continue;
    const position = order === 'id' ? candidate.record.agent_id : positionOf(candidate);
    if ((after !== null && position <= after) || (last && position >= last.position)) continue;
    taken.push({ candidate, position });
    if (taken.length >= 2 * max) cut();
  }
  cut();
  return taken;
}

/** Whether an agent surely comes behind another one by trouble: found without writing its position. */
function isBehind(candidate: Candidate, other: Candidate): boolean {
  const rank = rankTrouble(candidate);
  const otherRank = rankTrouble(other);
  if (rank !== otherRank) return rank > otherRank;
  const { agent_id, offlineMs } = candidate.record;
  return offlineMs === null && agent_id > other.record.agent_id;
}

/** The ranks in the order by trouble, each one digit: a position begins with it. */
export const TROUBLE = {
  failing: 0,
  offlineWithTasks: 1,
  offline: 2,
  full: 3,
  draining: 4,
  none: 5,
} as const;

/** No time is later. */
const LATEST_MS = 10 ** 15 - 1;

/** The position in the order by trouble. */
function positionOf(candidate: Candidate): string {
  const { agent_id, offlineMs } = candidate.record;
  const order = offlineMs === null ? '' : `${String(LATEST_MS - Math.floor(offlineMs)).padStart(15, '0')}/`;
  return `${rankTrouble(candidate)}/${order}${agent_id}`;
}

/** The rank of an agent in the order by trouble. */
export function rankTrouble(candidate: Candidate): number {
  const { record, slots } = candidate;
  if (record.offlineMs !== null) return slots > 0 ? TROUBLE.offlineWithTasks : TROUBLE.offline;
  return isFailing(candidate) ? TROUBLE.failing : TROUBLE[findObstacle(candidate) ?? 'none'];
}
