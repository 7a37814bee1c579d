/**
 * Which agents changed since when, so that a ranking copy catches up by reading only those. Each agent stands in the
 * log once, under the number of its last change; those that went stay for a while as gone.
 */
import BTreeModule from 'sorted-btree';

const BTree = BTreeModule.default;

/** Agents remembered as gone; a reader that is further behind reads everything anew. */
const REMOVED_MAX = 10_000;

export type ChangeLog = {
  note(agent_id: string): void;
  noteRemoved(agent_id: string): void;
  /** Agents that changed or went since the cursor; undefined: the cursor is too old or none of ours. */
  since(
    cursor: string,
  ): { readonly changed: readonly string[]; readonly gone: readonly string[] } | undefined;
  /** The cursor of this moment. */
  cursor(): string;
};

/** Creates an empty log; cursors begin with the name of the run, so that those of an earlier one are refused. */
export function createChangeLog(run: number): ChangeLog {
  const numbers = new Map<string, number>();
  const gone = new Map<string, number>();
  const log = new BTree<number, string>();
  let last = 0;
  let answered = 0;
  let forgotten = 0;

  function renumber(agent_id: string): void {
    const number = numbers.get(agent_id);
    if (number !== undefined) log.delete(number);
    last += 1;
    numbers.set(agent_id, last);
    log.set(last, agent_id);
  }

  return {
    note(agent_id) {
      const number = numbers.get(agent_id) ?? 0;
      // Nobody has read past that number, so whoever reads next gets this change with it.
      if (number > answered && !gone.has(agent_id)) return;
      gone.delete(agent_id);
      renumber(agent_id);
    },
    noteRemoved(agent_id) {
      renumber(agent_id);
      gone.delete(agent_id);
      gone.set(agent_id, last);
      for (const [oldest, number] of gone) {
        if (gone.size <= REMOVED_MAX) break;
        gone.delete(oldest);
        numbers.delete(oldest);
        log.delete(number);
        forgotten = number;
      }
    },
    since(cursor) {
      const parts = /^(\d+)-(\d+)$/.exec(cursor);
      const from = Number(parts?.[2]);
      if (Number(parts?.[1]) !== run || from < forgotten || from > last) return undefined;
      const changed: string[] = [];
      const left: string[] = [];
      for (const [, agent_id] of log.entries(from + 1)) (gone.has(agent_id) ? left : changed).push(agent_id);
      return { changed, gone: left };
    },
    cursor() {
      answered = last;
      return `${run}-${last}`;
    },
  };
}
