/**
 * The registered agents in the two orders of the listing: by id, and those in trouble first. A change of an
 * agent is only noted; its position is looked up at the next reading. So an agent that gets a thousand tasks
 * between two readings is sorted once, and a reading costs what has changed since the one before.
 *
 *   trouble   does not take its pushes · offline with tasks · offline · full · draining · none of these
 *
 * Of the offline ones, with or without tasks, the one that went offline last comes first; others by id.
 */
import BTreeModule from 'sorted-btree';
import { type Candidate, isFailing } from '../../../domain/match.ts';
import { findObstacle } from '../../../domain/task-match.ts';

const BTree = BTreeModule.default;

/** Changes that a reading finds at most: it takes no longer, however many there were. */
const CHANGED_MAX = 1_000;

export type AgentOrder = {
  /** An agent was added, changed or removed. */
  note(agent_id: string): void;
  /** The agents in this order, beginning after a position; each with its own position. */
  list(
    order: 'trouble' | 'id',
    after: string | null,
  ): Iterable<{ readonly candidate: Candidate; readonly position: string }>;
};

/** Creates it without agents; `find` returns what is known of one now. */
export function createAgentOrder(find: (agent_id: string) => Candidate | undefined): AgentOrder {
  const changed = new Set<string>();
  const troubles = new Map<string, string>();
  const sorted = { trouble: new BTree<string, string>(), id: new BTree<string, string>() };

  function update(): void {
    for (const agent_id of changed) {
      const candidate = find(agent_id);
      const isListed = candidate?.record.unregisteredMs === null;
      const before = troubles.get(agent_id);
      const after = isListed ? positionOf(candidate) : undefined;
      if (before === after) continue;
      if (before !== undefined) sorted.trouble.delete(before);
      if (after !== undefined) sorted.trouble.set(after, agent_id);
      if (after === undefined) {
        troubles.delete(agent_id);
        sorted.id.delete(agent_id);
      } else {
        troubles.set(agent_id, after);
        sorted.id.set(agent_id, agent_id);
      }
    }
    changed.clear();
  }

  return {
    note(agent_id) {
      changed.add(agent_id);
      if (changed.size === CHANGED_MAX) update();
    },
    *list(order, after) {
      update();
      let next = sorted[order].nextHigherPair(after ?? undefined);
      while (next) {
        const [position, agent_id] = next;
        const candidate = find(agent_id);
        if (candidate) yield { candidate, position };
        next = sorted[order].nextHigherPair(position);
      }
    },
  };
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
