/**
 * The last quarter of an hour, in steps of 30 s: how many tasks waited and ran, how many ended and how, how
 * long they took, and for which tags there was no agent. Pure. An engine records only the steps in which
 * something changed; `buildActivity()` fills in the quiet steps between them.
 */
import type { TaskOutcome } from './history-record.ts';
import { fillOutcomes, type OutcomeCounts } from './task-counts.ts';

/** How long a step is. Each step begins at a multiple of this in store time. */
export const STEP_MS = 30_000;
/** How many steps are kept, the present one included. */
export const STEPS_MAX = 30;
/** A step counts at most this many tags without an agent, and drops further tags. */
export const STEP_TAGS_MAX = 100;

const BOUNDS_PER_DECADE = 10;
const LAST_BOUND = 80;
/**
 * The inclusive upper bounds of the counts `tookMs`, from 1 ms to 28 hours, ten for each power of ten. One
 * more count follows, for tasks that took longer.
 */
export const TOOK_BOUNDS_MS: readonly number[] = Array.from(
  { length: LAST_BOUND + 1 },
  (_, index) => 10 ** (index / BOUNDS_PER_DECADE),
);

/**
 * How many tasks wait for an agent, and how many other tasks are open. The others run or are being matched.
 */
export type Levels = { readonly waiting: number; readonly running: number };

/**
 * One step: its levels and its endings. For example, 3 tasks wait and 12 run at the end of the step, and
 * during the step 40 tasks ended as `success` and 2 as `timeout`.
 */
export type ActivityStep = Levels & {
  /**
   * When the step began. `waiting` and `running` are counted at the end of the step; for the present step,
   * now.
   */
  readonly atMs: number;
  readonly ended: OutcomeCounts;
  /**
   * How long tasks took from submission to the report of their agent: one count of tasks for each of
   * `TOOK_BOUNDS_MS`, and one for longer.
   */
  readonly tookMs: readonly number[];
  /** By tag: how many tasks ended as `no_agent` while no agent with this tag was free. */
  readonly noAgent: ReadonlyMap<string, number>;
};

/** A step as an engine stores it. An absent count means 0. */
export type StepRecord = {
  readonly atMs: number;
  /** The levels before the first change in the step, which are those at the end of the step before. */
  readonly before: Levels;
  readonly ended: Partial<OutcomeCounts>;
  /** The counts `tookMs` by their index. */
  readonly took: ReadonlyMap<number, number>;
  readonly noAgent: ReadonlyMap<string, number>;
};

export function levelsOf(openTasks: number, waiting: number): Levels {
  return { waiting, running: Math.max(0, openTasks - waiting) };
}

/**
 * Whether `tookMs` counts a task with this outcome: only where its agent ended it, not a person or a time
 * limit.
 */
export function isTimed(outcome: TaskOutcome): boolean {
  return outcome === 'success' || outcome === 'failed';
}

/** Returns when the step around this time began. */
export function stepOf(ms: number): number {
  return Math.floor(ms / STEP_MS) * STEP_MS;
}

export function tookIndexOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(LAST_BOUND + 1, Math.ceil(BOUNDS_PER_DECADE * Math.log10(ms)));
}

/**
 * Builds the last 30 steps, oldest first, from records and the levels of now (`present`). Steps before the
 * first record have the levels that this record has as `before`.
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
 * Estimates the median of how long tasks took; null if none is counted. The median lies between two bounds of
 * `TOOK_BOUNDS_MS`. The bounds grow by a factor, so the estimate is the geometric mean of the two.
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
