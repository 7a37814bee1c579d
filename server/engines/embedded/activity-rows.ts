/**
 * The rows of the steps in which something happened: 30 of them at most, because the row of a step replaces
 * that of the step 30 before. They are figures, on which nothing else rests: a damaged one is left out.
 */
import { STEP_MS, STEPS_MAX, type StepRecord } from '../../domain/activity.ts';
import { OUTCOMES } from '../../domain/history-record.ts';
import { fillOutcomes } from '../../domain/task-counts.ts';
import type { Log } from '../../ports/log.ts';
import type { Generation } from './generation.ts';
import { type CommitGroup, putRow } from './group-commit.ts';
import type { ActivitySteps } from './memory/activity-steps.ts';
import type { OrderedStorage } from './storage/ordered-storage.ts';
import { ACTIVITY_RANGE } from './storage/row-keys.ts';

type StoredStep = readonly [
  atMs: number,
  waiting: number,
  running: number,
  /** In the order of `OUTCOMES`. */
  ended: readonly number[],
  took: readonly (readonly [index: number, count: number])[],
  noAgent: readonly (readonly [tag: string, count: number])[],
];

/** Adds the rows of the steps that were over before this time, and have changed, to the group. */
export function putActivity({ activity }: Generation, group: CommitGroup, beforeMs: number): void {
  putRecords(group, activity.takeChanged(beforeMs));
}

/** Has the same rows written although no commit may follow; adds nothing where none has changed. */
export function writeActivity({ activity, commits }: Generation, beforeMs: number): void {
  const records = activity.takeChanged(beforeMs);
  if (records.length > 0) putRecords(commits.join().group, records);
}

function putRecords(group: CommitGroup, records: readonly StepRecord[]): void {
  for (const record of records) putRow(group, keyOf(record), writeStep(record));
}

/** Loads the stored records. If one is damaged, it and those behind it are left out, and the log says so. */
export async function loadActivity(
  storage: OrderedStorage,
  activity: ActivitySteps,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  try {
    for (const [, text] of await storage.scan(ACTIVITY_RANGE, STEPS_MAX)) activity.load(readStep(text));
  } catch (error) {
    log.warn(
      { err: error },
      'the stored figures of the last quarter of an hour are damaged and were left out',
    );
  }
}

function keyOf({ atMs }: StepRecord): string {
  return `${ACTIVITY_RANGE.from}${String((atMs / STEP_MS) % STEPS_MAX).padStart(2, '0')}`;
}

function writeStep({ atMs, before, ended, took, noAgent }: StepRecord): string {
  const counts = OUTCOMES.map((outcome) => ended[outcome] ?? 0);
  const step: StoredStep = [atMs, before.waiting, before.running, counts, [...took], [...noAgent]];
  return JSON.stringify(step);
}

function readStep(text: string): StepRecord {
  const [atMs, waiting, running, counts, took, noAgent] = JSON.parse(text) as StoredStep;
  const ended = fillOutcomes();
  for (const [index, outcome] of OUTCOMES.entries()) ended[outcome] = counts[index] ?? 0;
  return { atMs, before: { waiting, running }, ended, took: new Map(took), noAgent: new Map(noAgent) };
}
