/**
 * How many settled tasks are stored, by outcome. The counts are a part of the mark's row, which each group
 * that settles or trims tasks writes: so they are exact after a crash. Tasks that settled up to a certain
 * time are not among them where an older gateway wrote the file: it counted none.
 */
import { OUTCOMES, type TaskOutcome } from '../../../domain/history-record.ts';
import { fillOutcomes, type OutcomeCounts } from '../../../domain/task-counts.ts';
import type { MarkRow } from '../sqlite/row-keys.ts';

/** The counts as they are stored. */
type StoredCounts = Pick<MarkRow, 'ended' | 'old'>;

export type SettledCounts = {
  /** A task settled (1), or a settled one was removed (-1). */
  add(outcome: TaskOutcome, change: 1 | -1): void;
  read(): OutcomeCounts;
  /** Whether a task that settled at this time is among them. */
  isCounted(settledMs: number): boolean;
  /** No task is stored any more that settled before the counting began. */
  noteAllCounted(): void;
  /** Whether tasks may be stored that are not among them. */
  isPartial(): boolean;
  store(): StoredCounts;
};

/** Creates the counts as they were stored. */
export function createSettledCounts({ ended = [], old }: StoredCounts): SettledCounts {
  const counts = fillOutcomes();
  for (const [index, outcome] of OUTCOMES.entries()) counts[outcome] = ended[index] ?? 0;
  let uncountedUntilMs = old;

  return {
    add(outcome, change) {
      counts[outcome] += change;
    },
    read: () => ({ ...counts }),
    isCounted: (settledMs) => uncountedUntilMs === undefined || settledMs > uncountedUntilMs,
    noteAllCounted() {
      uncountedUntilMs = undefined;
    },
    isPartial: () => uncountedUntilMs !== undefined,
    store: () => ({
      ended: OUTCOMES.map((outcome) => counts[outcome]),
      ...(uncountedUntilMs !== undefined && { old: uncountedUntilMs }),
    }),
  };
}
