/**
 * Which agents changed since a cursor, so that a reader that keeps a copy of all agents reads only those.
 * Each agent is in the log once, under the number of its last change; removed agents stay in the log until
 * too many are in it.
 */
import BTreeModule from 'sorted-btree';
import { STORE_LIMITS } from '../ports/limits.ts';
import type { AgentChanges } from '../ports/store.ts';

const BTree = BTreeModule.default;

export type ChangeLog = {
  note(agent_id: string): void;
  noteRemoved(agent_id: string): void;
  /**
   * At most `limit` agents that changed or were removed since the cursor. All agents from the first (`reset`)
   * when there is no cursor, or it is too old, or was not issued by this log.
   */
  read(cursor: string | null, limit: number): ChangesPage;
};

type ChangesPage = Omit<AgentChanges, 'changed'> & { readonly changed: readonly string[] };

/** Creates an empty log. Its cursors begin with `run`, so that it refuses those of earlier generations. */
export function createChangeLog(run: number): ChangeLog {
  const numbers = new Map<string, number>();
  const removed = new Map<string, number>();
  const log = new BTree<number, string>();
  let lastNumber = 0;
  let lastIssued = 0;
  let lastForgotten = 0;

  /**
   * How far its reader has come, and up to which number it needs no removal: it began to read all agents
   * after that. Undefined where it must begin again.
   */
  function parseCursor(cursor: string | null): { after: number; knownTo: number } | undefined {
    const parts = /^(\d+)-(\d+)-(\d+)$/.exec(cursor ?? '');
    const [ofRun, after, knownTo] = (parts ?? []).slice(1).map(Number);
    if (ofRun !== run || after === undefined || knownTo === undefined) return undefined;
    return knownTo < lastForgotten || knownTo > lastNumber ? undefined : { after, knownTo };
  }

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
    read(cursor, limit) {
      const position = parseCursor(cursor);
      const { after, knownTo } = position ?? { after: 0, knownTo: lastNumber };
      const changedIds: string[] = [];
      const removedIds: string[] = [];
      let number = lastNumber;
      let more = false;
      let passed = after;
      for (const [next, agent_id] of log.entries(after + 1)) {
        if (changedIds.length + removedIds.length >= limit) {
          number = passed;
          more = true;
          break;
        }
        passed = next;
        if (!removed.has(agent_id)) changedIds.push(agent_id);
        else if (next > knownTo) removedIds.push(agent_id);
      }
      lastIssued = Math.max(lastIssued, number);
      const next = `${run}-${number}-${Math.max(number, knownTo)}`;
      return { reset: !position, changed: changedIds, removed: removedIds, cursor: next, more };
    },
  };
}
