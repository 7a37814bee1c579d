/**
 * Which agents changed since a cursor, so that a reader that keeps a copy of all agents reads only those.
 * Each agent is in the log once, under the number of its last change; removed agents stay in the log until
 * too many are in it.
 */
import BTreeModule from 'sorted-btree';
import { STORE_LIMITS } from '../../../ports/limits.ts';

const BTree = BTreeModule.default;

export type ChangeLog = {
  note(agent_id: string): void;
  noteRemoved(agent_id: string): void;
  /**
   * Agents that changed or were removed since the cursor; undefined when the cursor is too old, or was not
   * issued by this log.
   */
  since(
    cursor: string,
  ): { readonly changed: readonly string[]; readonly removed: readonly string[] } | undefined;
  /** The cursor of this moment. */
  cursor(): string;
};

/** Creates an empty log. Its cursors begin with `run`, so that it refuses those of earlier generations. */
export function createChangeLog(run: number): ChangeLog {
  const numbers = new Map<string, number>();
  const removed = new Map<string, number>();
  const log = new BTree<number, string>();
  let lastNumber = 0;
  let lastIssued = 0;
  let lastForgotten = 0;

  function renumber(agent_id: string): void {
    const number = numbers.get(agent_id);
    if (number !== undefined) log.delete(number);
    lastNumber += 1;
    numbers.set(agent_id, lastNumber);
    log.set(lastNumber, agent_id);
  }

  return {
    note(agent_id) {
      const number = numbers.get(agent_id) ?? 0;
      // No cursor was issued since the agent's last change, so every reader still gets the agent.
      if (number > lastIssued && !removed.has(agent_id)) return;
      removed.delete(agent_id);
      renumber(agent_id);
    },
    noteRemoved(agent_id) {
      renumber(agent_id);
      removed.delete(agent_id);
      removed.set(agent_id, lastNumber);
      for (const [oldest, number] of removed) {
        if (removed.size <= STORE_LIMITS.removedAgentsMax) break;
        removed.delete(oldest);
        numbers.delete(oldest);
        log.delete(number);
        lastForgotten = number;
      }
    },
    since(cursor) {
      const parts = /^(\d+)-(\d+)$/.exec(cursor);
      const from = Number(parts?.[2]);
      if (Number(parts?.[1]) !== run || from < lastForgotten || from > lastNumber) return undefined;
      const changedIds: string[] = [];
      const removedIds: string[] = [];
      for (const [, agent_id] of log.entries(from + 1)) {
        (removed.has(agent_id) ? removedIds : changedIds).push(agent_id);
      }
      return { changed: changedIds, removed: removedIds };
    },
    cursor() {
      lastIssued = lastNumber;
      return `${run}-${lastNumber}`;
    },
  };
}
