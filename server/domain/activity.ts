/**
 * The last quarter of an hour, in steps of 30 s: how many tasks waited and ran, how many ended and how, how
 * long they took, and for which tags there was no agent. Pure. An engine keeps a record of each step in which
 * something changed; `buildActivity()` makes the steps of them, the quiet ones in between included.
 */
import type { TaskOutcome } from './history-record.ts';
import { fillOutcomes, type OutcomeCounts } from './task-counts.ts';

/** How long a step is. It begins at a multiple of this, by the store's time. */
export const STEP_MS = 30_000;
/** How many steps are kept, the present one included. */
export const STEPS_MAX = 30;
/** One step counts at most this many tags without an agent; it drops further ones. */
export const STEP_TAGS_MAX = 100;

const BOUNDS_PER_DECADE = 10;
const LAST_BOUND = 80;
/**
 * The upper bounds of the counts `tookMs`, included, ten to a decade: 1 ms to 28 hours. One more count
 * follows: of what took longer.
 */
export const TOOK_BOUNDS_MS: readonly number[] = Array.from(
  { length: LAST_BOUND + 1 },
  (_, index) => 10 ** (index / BOUNDS_PER_DECADE),
);

/** How many tasks wait for an agent, and how many other tasks are open: they run, or are being matched. */
export type Levels = { readonly waiting: number; readonly running: number };

/**
 * One step: its levels and its endings. For example, 3 tasks wait and 12 run at its end, and in it 40 ended
 * as `success`, 2 as `timeout`.
 */
export type ActivityStep = Levels & {
  /** When it began. `waiting` and `running` are those at its end; of the present step, those of now. */
  readonly atMs: number;
  readonly ended: OutcomeCounts;
  /**
   * How many tasks whose agent reported their end took this long since their submission: one count for each
   * of `TOOK_BOUNDS_MS`, and one for longer.
   */
  readonly tookMs: readonly number[];
  /** By tag: tasks that ended as `no_agent` and found no agent with the tag free. */
  readonly noAgent: ReadonlyMap<string, number>;
};

/** A step as an engine keeps it. A count is 0 if it is absent. */
export type StepRecord = {
  readonly atMs: number;
  /** The levels before the first change in the step, so also those at the end of the step before. */
  readonly before: Levels;
  readonly ended: Partial<OutcomeCounts>;
  /** By the index in the counts `tookMs`. */
  readonly took: ReadonlyMap<number, number>;
  readonly noAgent: ReadonlyMap<string, number>;
};

/** The levels of a store with this many open tasks, of which this many wait. */
export function levelsOf(openTasks: number, waiting: number): Levels {
  return { waiting, running: Math.max(0, openTasks - waiting) };
}

/** Whether it is counted how long such a task took: its agent ended it, and not a person or a time limit. */
export function isTimed(outcome: TaskOutcome): boolean {
  return outcome === 'success' || outcome === 'failed';
}

/** When the step of a time began. */
export function stepOf(ms: number): number {
  return Math.floor(ms / STEP_MS) * STEP_MS;
}

/** The index in the counts `tookMs` for a duration. */
export function tookIndexOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(LAST_BOUND + 1, Math.ceil(BOUNDS_PER_DECADE * Math.log10(ms)));
}

/**
 * The last 30 steps, oldest first. `present`: what waits and runs now. Steps before the first record have the
 * levels that this record found.
 */
export function buildActivity(
  records: readonly StepRecord[],
  present: Levels,
  nowMs: number,
): readonly ActivityStep[] {
  const byTime = new Map(records.map((record) => [record.atMs, record]));
  const steps: ActivityStep[] = [];
  let after = present;
  for (let atMs = stepOf(nowMs); steps.length < STEPS_MAX; atMs -= STEP_MS) {
    const record = byTime.get(atMs);
    steps.push(describeStep(atMs, after, record));
    after = record?.before ?? after;
  }
  return steps.reverse();
}

function describeStep(
  atMs: number,
  { waiting, running }: Levels,
  record: StepRecord | undefined,
): ActivityStep {
  const tookMs = Array.from({ length: LAST_BOUND + 2 }, (_, index) => record?.took.get(index) ?? 0);
  const noAgent = record?.noAgent ?? new Map<string, number>();
  return { atMs, waiting, running, ended: fillOutcomes(record?.ended), tookMs, noAgent };
}

/**
 * The median of how long tasks took; null where none ended. It lies in one step of the histogram. The bounds
 * grow by a factor, so the estimate is the geometric middle of the step's two bounds.
 */
export function findMedianSeconds(steps: readonly ActivityStep[]): number | null {
  const counts = steps.reduce<readonly number[]>(
    (sums, { tookMs }) => tookMs.map((count, index) => count + (sums[index] ?? 0)),
    [],
  );
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let passed = 0;
  const index = counts.findIndex((count) => {
    passed += count;
    return passed >= total / 2;
  });
  const [lowerMs, upperMs] = [TOOK_BOUNDS_MS[index - 1] ?? 1, TOOK_BOUNDS_MS[index]];
  const ms = upperMs === undefined ? lowerMs : Math.sqrt(lowerMs * upperMs);
  return Number((ms / 1_000).toPrecision(2));
}
