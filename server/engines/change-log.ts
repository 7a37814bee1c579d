/**
 * Which agents changed since a cursor, so that a reader that keeps a copy of all agents reads only those.
 * Each agent counts once, under the number of its last change. In memory alone: a reader from before reads
 * all agents again.
 */
import { STORE_LIMITS } from '../ports/limits.ts';
import type { AgentChanges } from '../ports/store.ts';

type ChangesPage = Omit<AgentChanges, 'changed'> & { readonly changed: readonly string[] };

export type ChangeLog = {
  note(agent_id: string): void;
  /** The same, if the log has the agent, and this is not removed. */
  noteIfKnown(agent_id: string): void;
  noteRemoved(agent_id: string): void;
  /**
   * At most `limit` agents that changed or were removed since the cursor. All agents from the first (`reset`)
   * when there is no cursor, or it is too old, or another log issued it.
   */
  read(cursor: string | null, limit: number): ChangesPage;
};

type Change = { readonly number: number; readonly agent_id: string };

/** The log is rewritten once so many of its entries, and half of them, are outdated. */
const OUTDATED_MIN = 1_000;

/** Creates an empty log. Its cursors begin with `run`, so that it refuses those of other logs. */
export function createChangeLog(run: string): ChangeLog {
  /** In the order of their numbers; an entry counts while it has the number of its agent. */
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
   * How far its reader has come, and up to which number it needs no removal: it began to read all agents
   * after that. Undefined where it must begin again.
   */
  function parseCursor(cursor: string | null): { after: number; knownTo: number } | undefined {
    const [ofRun, ...parts] = (cursor ?? '').split('-');
    const [after, knownTo] = parts.map(Number);
    if (ofRun !== run || after === undefined || knownTo === undefined) return undefined;
    return knownTo < lastForgotten || !(knownTo <= lastNumber) ? undefined : { after, knownTo };
  }

  /** The index of the first entry behind a number. */
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
