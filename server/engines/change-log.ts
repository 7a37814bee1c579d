/**
 * Which agents changed since a cursor, so that a reader with a copy of all agents reads only the changed
 * ones. Each agent has one number, that of its last change. The log is in memory alone: after a restart every
 * reader reads all agents again.
 */
import { STORE_LIMITS } from '../ports/limits.ts';
import type { AgentChanges } from '../ports/store.ts';

type ChangesPage = Omit<AgentChanges, 'changed'> & { readonly changed: readonly string[] };

export type ChangeLog = {
  note(agent_id: string): void;
  /** Notes a change, if the log has the agent and the agent is not removed. */
  noteIfKnown(agent_id: string): void;
  noteRemoved(agent_id: string): void;
  /**
   * Returns at most `limit` agents that changed or were removed since the cursor. Without a cursor, or if the
   * cursor is too old or of another log, it begins with the first of all agents (`reset`).
   */
  read(cursor: string | null, limit: number): ChangesPage;
};

type Change = { readonly number: number; readonly agent_id: string };

/** The log is rewritten once this many of its entries, and at least half of all, are outdated. */
const OUTDATED_MIN = 1_000;

/** Creates an empty log. Its cursors begin with `run`, so that it recognises cursors of other logs. */
export function createChangeLog(run: string): ChangeLog {
  /** Ordered by number. An entry is outdated once its agent has a later number. */
  let log: Change[] = [];
  const numbers = new Map<string, number>();
  const removed = new Map<string, number>();
  let lastNumber = 0;
  let lastIssued = 0;
  let lastForgotten = 0;

  function renumber(agent_id: string): void {
    lastNumber += 1;
    numbers.set(agent_id, lastNumber);
    log.push({ number: lastNumber, agent_id });
    if (log.length > 2 * numbers.size + OUTDATED_MIN) log = log.filter(isCurrent);
  }

  const isCurrent = ({ number, agent_id }: Change): boolean => numbers.get(agent_id) === number;

  /**
   * Reads a cursor. `after`: how far its reader has come. `knownTo`: the reader began to read all agents
   * after this number, so it needs no removal up to there. Undefined if the reader must begin again.
   */
  function parseCursor(cursor: string | null): { after: number; knownTo: number } | undefined {
    const [ofRun, ...parts] = (cursor ?? '').split('-');
    const [after, knownTo] = parts.map(Number);
    if (ofRun !== run || after === undefined || knownTo === undefined) return undefined;
    return knownTo < lastForgotten || !(knownTo <= lastNumber) ? undefined : { after, knownTo };
  }

  /** The index of the first entry after a number. */
  function findAfter(number: number): number {
    let [low, high] = [0, log.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((log[middle]?.number ?? 0) <= number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function note(agent_id: string): void {
    // No cursor was issued since the agent's last change, so every reader still gets the agent.
    if ((numbers.get(agent_id) ?? 0) > lastIssued && !removed.has(agent_id)) return;
    removed.delete(agent_id);
    renumber(agent_id);
  }

  return {
    note,
    noteIfKnown(agent_id) {
      if (numbers.has(agent_id) && !removed.has(agent_id)) note(agent_id);
    },
    noteRemoved(agent_id) {
      removed.delete(agent_id);
      renumber(agent_id);
      removed.set(agent_id, lastNumber);
      for (const [oldest, number] of removed) {
        if (removed.size <= STORE_LIMITS.removedAgentsMax) break;
        removed.delete(oldest);
        numbers.delete(oldest);
        lastForgotten = number;
      }
    },
    read(cursor, limit) {
      const position = parseCursor(cursor);
      const { after, knownTo } = position ?? { after: 0, knownTo: lastNumber };
      const [changed, gone]: [string[], string[]] = [[], []];
      let passed = after;
      let more = false;
      for (let at = findAfter(after); at < log.length && !more; at += 1) {
        const change = log[at] as Change;
        if (!isCurrent(change)) continue;
        more = changed.length + gone.length >= limit;
        if (more) break;
        passed = change.number;
        if (!removed.has(change.agent_id)) changed.push(change.agent_id);
        else if (change.number > knownTo) gone.push(change.agent_id);
      }
      const number = more ? passed : lastNumber;
      lastIssued = Math.max(lastIssued, number);
      const next = `${run}-${number}-${Math.max(number, knownTo)}`;
      return { reset: !position, changed, removed: gone, cursor: next, more };
    },
  };
}
