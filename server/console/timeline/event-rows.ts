/**
 * The rows of the exact table below a timeline: offsets, gaps, folded neighbours, and where entries are
 * missing. Pure.
 */
import type { HistoryEntry } from './lanes.ts';

/** A row: an event (which happened `count` times in a row), or the number of entries that are missing. */
export type EventRow =
  | {
      readonly kind: 'event';
      readonly entry: HistoryEntry;
      readonly count: number;
      /**
       * Seconds since the submission, and since the row above. `gap` is null in the first row and behind
       * missing entries.
       */
      readonly offset: number;
      readonly gap: number | null;
    }
  | { readonly kind: 'dropped'; readonly count: number };

const FOLD_MIN = 4;

/** Lists the rows. `dropped` entries are missing from the middle of the history. */
export function listEventRows(history: readonly HistoryEntry[], dropped: number): readonly EventRow[] {
  const created = history[0]?.time ?? 0;
  const middle = dropped > 0 ? Math.floor(history.length / 2) : history.length;
  const before = listPart(history.slice(0, middle), created, null);
  if (dropped === 0) return before;
  return [...before, { kind: 'dropped', count: dropped }, ...listPart(history.slice(middle), created, null)];
}

function listPart(
  entries: readonly HistoryEntry[],
  created: number,
  earlier: number | null,
): readonly EventRow[] {
  let previous = earlier;
  return foldEqual(entries).map(({ entry, count, lastTime }) => {
    const gap = previous === null ? null : Math.max(entry.time - previous, 0);
    previous = lastTime;
    return { kind: 'event', entry, count, offset: entry.time - created, gap };
  });
}

type Fold = { readonly entry: HistoryEntry; readonly count: number; readonly lastTime: number };

/** Folds four or more neighbours that differ only in their times. */
function foldEqual(entries: readonly HistoryEntry[]): readonly Fold[] {
  const folds: Fold[] = [];
  for (let start = 0; start < entries.length; ) {
    const first = entries[start];
    if (!first) break;
    let next = start + 1;
    for (let other = entries[next]; other && checkEqual(first, other); other = entries[next]) next += 1;
    const run = entries.slice(start, next);
    const count = run.reduce((sum, entry) => sum + entry.count, 0);
    if (count >= FOLD_MIN) folds.push({ entry: first, count, lastTime: run.at(-1)?.last_time ?? first.time });
    else for (const entry of run) folds.push({ entry, count: entry.count, lastTime: entry.last_time });
    start = next;
  }
  return folds;
}

function checkEqual(one: HistoryEntry, other: HistoryEntry): boolean {
  return one.event === other.event && one.agent_id === other.agent_id && wordsOf(one) === wordsOf(other);
}

/** The detail without how long a push took. */
function wordsOf({ detail }: HistoryEntry): string | null {
  return detail?.replace(/, \d+ ms$/, '') ?? null;
}
