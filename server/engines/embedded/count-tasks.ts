/**
 * Counts what a commit does to a task: the open ones by class, the settled ones by outcome, those without
 * success in an index, and what happens in each step of time. All of it is changed by increments, in memory
 * and in rows of the same group, and read without a scan.
 */
import { type ActivityStep, type Levels, levelsOf } from '../../domain/activity.ts';
import type { TaskOutcome } from '../../domain/history-record.ts';
import type { TaskState } from '../../domain/task.ts';
import { classifyTask, isOutcome, type TaskCounts } from '../../domain/task-counts.ts';
import { putActivity } from './activity-rows.ts';
import type { Generation } from './generation.ts';
import { type CommitGroup, putRow, removeRow } from './group-commit.ts';
import { outcomeListing, positionOf } from './sqlite/row-keys.ts';

/** The commit that changes a task. */
type TaskWrite = { readonly generation: Generation; readonly group: CommitGroup; readonly nowMs: number };

/** Counts a task that changes from one state to another; none before: it is new. */
export function countTask(
  { generation, group, nowMs }: TaskWrite,
  id: string,
  before: TaskState | undefined,
  after: TaskState,
): void {
  const classBefore = before ? classifyTask(before) : null;
  const classAfter = classifyTask(after);
  if (classBefore === classAfter) return;
  beginStep(generation, group, nowMs);
  const position = positionOf(after.createdMs, id);
  if (classBefore !== null && !isOutcome(classBefore)) generation.openPositions.remove(classBefore, position);
  if (!isOutcome(classAfter)) {
    generation.openPositions.add(classAfter, position);
    return;
  }
  addSettled(generation, group, id, after, classAfter);
  generation.activity.noteEnded(after, classAfter);
}

/** Begins the present step before what waits or runs changes, and has the steps before it written. */
export function beginStep(generation: Generation, group: CommitGroup, nowMs: number): void {
  if (generation.activity.begin(nowMs, readLevels(generation))) putActivity(generation, group, nowMs);
}

function readLevels({ waiting, openPositions }: Generation): Levels {
  return levelsOf(openPositions.count('pending') + openPositions.count('running'), waiting.count());
}

/** A settled task is removed. */
export function removeSettled(
  { generation, group }: Pick<TaskWrite, 'generation' | 'group'>,
  id: string,
  state: TaskState,
): void {
  const taskClass = classifyTask(state);
  if (!isOutcome(taskClass)) return;
  generation.settledCounts.add(taskClass, -1);
  group.highWaterMark = generation.highWaterMark;
  if (taskClass !== 'success') removeRow(group, outcomeKey(taskClass, state, id));
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

/** How many tasks are stored. */
export function readTaskCounts({ settledCounts, openPositions, waiting }: Generation): TaskCounts {
  return {
    pending: openPositions.count('pending'),
    running: openPositions.count('running'),
    waiting: waiting.count(),
    ended: settledCounts.read(),
  };
}

/** The activity of the last steps. */
export function readActivity(generation: Generation, nowMs: number): readonly ActivityStep[] {
  return generation.activity.read(readLevels(generation), nowMs);
}
