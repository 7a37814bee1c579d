/**
 * How many settled tasks are stored, by outcome. The counts are a part of the mark's row, which each group
 * that settles or trims tasks writes: so they are exact after a crash.
 */
import { OUTCOMES, type TaskOutcome } from '../../../domain/history-record.ts';
import { fillOutcomes, type OutcomeCounts } from '../../../domain/task-counts.ts';
import type { MarkRow } from '../sqlite/row-keys.ts';

/** The counts as they are stored. */
type StoredCounts = Pick<MarkRow, 'ended'>;

export type SettledCounts = {
  /** A task settled (1), or a settled one was removed (-1). */
  add(outcome: TaskOutcome, change: 1 | -1): void;
  read(): OutcomeCounts;
  store(): StoredCounts;
};

/** Creates the counts as they were stored. */
export function createSettledCounts({ ended = [] }: StoredCounts): SettledCounts {
  const counts = fillOutcomes();
  for (const [index, outcome] of OUTCOMES.entries()) counts[outcome] = ended[index] ?? 0;

  return {
    add(outcome, change) {
      counts[outcome] += change;
    },
    read: () => ({ ...counts }),
    store: () => ({ ended: OUTCOMES.map((outcome) => counts[outcome]) }),
  };
}
