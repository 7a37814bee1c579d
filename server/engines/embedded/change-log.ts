/**
 * Which agents changed since when, so that a ranking copy catches up by reading only those. Each agent stands in the
 * log once, under the number of its last change; those that went stay for a while as gone.
 */
import BTreeModule from 'sorted-btree';

const BTree = BTreeModule.default;

/** Agents remembered as gone; a reader that is further behind reads everything anew. */
const GONE_MAX = 10_000;

export type ChangeLog = {
  note(agentId: string): void;
  noteGone(agentId: string): void;
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

  function renumber(agentId: string): void {
    const number = numbers.get(agentId);
    if (number !== undefined) log.delete(number);
    last += 1;
    numbers.set(agentId, last);
    log.set(last, agentId);
  }

  return {
    note(agentId) {
      const number = numbers.get(agentId) ?? 0;
      // Nobody has read past that number, so whoever reads next gets this change with it.
      if (number > answered && !gone.has(agentId)) return;
      gone.delete(agentId);
      renumber(agentId);
    },
    noteGone(agentId) {
      renumber(agentId);
      gone.delete(agentId);
      gone.set(agentId, last);
      for (const [oldest, number] of gone) {
        if (gone.size <= GONE_MAX) break;
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
      for (const [, agentId] of log.entries(from + 1)) (gone.has(agentId) ? left : changed).push(agentId);
      return { changed, gone: left };
    },
    cursor() {
      answered = last;
      return `${run}-${last}`;
    },
  };
}
