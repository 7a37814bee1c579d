/**
 * Counts what a commit does to a task: the open ones by class, the settled ones by outcome, those without
 * success in an index, and what happens in each step of time. All of it is changed by increments, in memory
 * and in rows of the same group, and read without a scan.
 */
import { type ActivityStep, type Levels, levelsOf } from '../../domain/activity.ts';
import type { TaskOutcome } from '../../domain/history-record.ts';
import type { TaskState } from '../../domain/task.ts';
import { classifyTask, isOutcome, type TaskClass, type TaskCounts } from '../../domain/task-counts.ts';
import { putActivity } from './activity-rows.ts';
import type { Generation } from './generation.ts';
import { type CommitGroup, putRow, removeRow } from './group-commit.ts';
import type { OrderedStorage } from './sqlite/ordered-storage.ts';
import { ENDED_PREFIX, endedMsOf, OUTCOME_RANGE, outcomeListing, positionOf } from './sqlite/row-keys.ts';

/** The commit that changes a task. */
type TaskWrite = { readonly generation: Generation; readonly group: CommitGroup; readonly nowMs: number };

const ROWS_PER_SLICE = 1_000;

/**
 * Counts a task that changes from one state to another; none before: it is new; null after: it is removed.
 */
export function countTask(
  { generation, group, nowMs }: TaskWrite,
  id: string,
  before: TaskState | undefined,
  after: TaskState | null,
): void {
  const classBefore = before ? classifyTask(before) : null;
  const classAfter = after ? classifyTask(after) : null;
  if (classBefore === classAfter && before?.createdMs === after?.createdMs) return;
  beginStep(generation, group, nowMs);
  if (before && classBefore !== null) removeCounted(generation, group, id, before, classBefore);
  if (!after || classAfter === null) return;
  if (!isOutcome(classAfter)) {
    generation.openPositions.add(classAfter, positionOf(after.createdMs, id));
    return;
  }
  addSettled(generation, group, id, after, classAfter);
  if (classBefore === null || !isOutcome(classBefore)) generation.activity.noteEnded(after, classAfter);
}

/** Begins the present step before what waits or runs changes, and has the steps before it written. */
export function beginStep(generation: Generation, group: CommitGroup, nowMs: number): void {
  if (generation.activity.begin(nowMs, readLevels(generation))) putActivity(generation, group, nowMs);
}

function readLevels({ waiting, openPositions }: Generation): Levels {
  return levelsOf(openPositions.count('pending') + openPositions.count('running'), waiting.count());
}

/** A settled task is removed that settled, or was listed as settled, at this time. */
export function removeSettled(
  { generation, group }: Pick<TaskWrite, 'generation' | 'group'>,
  id: string,
  state: TaskState,
  settledMs: number,
): void {
  const taskClass = classifyTask(state);
  if (!isOutcome(taskClass) || !generation.settledCounts.isCounted(settledMs)) return;
  generation.settledCounts.add(taskClass, -1);
  group.highWaterMark = generation.highWaterMark;
  if (taskClass !== 'success') removeRow(group, outcomeKey(taskClass, state, id));
}

function removeCounted(
  generation: Generation,
  group: CommitGroup,
  id: string,
  state: TaskState,
  taskClass: TaskClass,
): void {
  if (isOutcome(taskClass)) removeSettled({ generation, group }, id, state, state.settledMs ?? 0);
  else generation.openPositions.remove(taskClass, positionOf(state.createdMs, id));
}

function addSettled(
  generation: Generation,
  group: CommitGroup,
  id: string,
  state: TaskState,
  outcome: TaskOutcome,
): void {
  generation.settledCounts.add(outcome, 1);
  // The counts are in the row of the high-water mark.
  group.highWaterMark = generation.highWaterMark;
  if (outcome !== 'success') putRow(group, outcomeKey(outcome, state, id), '');
}

function outcomeKey(outcome: TaskOutcome, state: TaskState, id: string): string {
  return `${outcomeListing(outcome)}/${positionOf(state.createdMs, id)}`;
}

/** How many tasks are stored. Reads one row while some may be stored that are not counted. */
export async function readTaskCounts(generation: Generation): Promise<TaskCounts> {
  const { storage, settledCounts, openPositions, waiting } = generation;
  if (settledCounts.isPartial()) {
    const [oldest] = await storage.scan({ from: ENDED_PREFIX, to: `${ENDED_PREFIX}:` }, 1);
    if (!oldest || settledCounts.isCounted(endedMsOf(oldest[0]))) settledCounts.noteAllCounted();
  }
  return {
    pending: openPositions.count('pending'),
    running: openPositions.count('running'),
    waiting: waiting.count(),
    ended: settledCounts.read(),
    exact: !settledCounts.isPartial(),
  };
}

/** What happened in the last steps. */
export function readActivity(generation: Generation, nowMs: number): readonly ActivityStep[] {
  return generation.activity.read(readLevels(generation), nowMs);
}

/**
 * Empties the index of outcomes, which an older gateway did not keep while it used the file: it may name
 * tasks that are gone.
 */
export async function clearOutcomes(storage: OrderedStorage): Promise<void> {
  for (;;) {
    const rows = await storage.scan(OUTCOME_RANGE, ROWS_PER_SLICE);
    if (rows.length === 0) return;
    await storage.apply(new Map(), new Set(rows.map(([key]) => key)));
  }
}
