/**
 * Applies what a commit says of a task: the changes of its entries in the indexes, and how it ends. Some
 * indexes are in memory, the others are rows of the commit's group. All are read without a scan.
 */
import { type Ending, endingOf, entriesOf, type IndexChange } from '../../domain/projection.ts';
import type { TaskState } from '../../domain/task.ts';
import { putActivity } from './activity-rows.ts';
import { readLevels } from './counts.ts';
import type { Generation } from './generation.ts';
import { type CommitGroup, putRow, removeRow } from './group-commit.ts';
import { isInMemory, type MemoryIndex } from './memory/indexes.ts';
import type { MemoryState } from './memory/state.ts';
import { expiryKey, listingOf, padMs, positionOf } from './storage/row-keys.ts';

/** The commit that changes a task. */
type TaskCommit = { readonly generation: Generation; readonly group: CommitGroup; readonly nowMs: number };

/** Applies the changes in order. A task that an agent may claim at once wakes its watchers. */
export function applyIndexChanges(commit: TaskCommit, id: string, changes: readonly IndexChange[]): void {
  const { generation, group, nowMs } = commit;
  const positionAt = positionsOf(id);
  for (const { op, index, of, fromMs, atMs, keepMs } of changes) {
    const position = positionAt(atMs);
    if (index === 'open' || index === 'waiting') beginStep(commit);
    if (isInMemory(index)) {
      generation.indexes[op](index, of, memoryKeyOf(index, fromMs, position));
      if (index === 'claimable' && op === 'add' && fromMs === 0) group.topics.add(`agent:${of}`);
      continue;
    }
    const key = `${listingOf(index, of)}/${position}`;
    if (op === 'remove') removeRow(group, key);
    else putRow(group, key, '');
    if (keepMs !== undefined) putRow(group, expiryKey(nowMs + keepMs, key), '');
  }
}

/** Counts a task that ends, in all and in the present step, and keeps how it ended. */
export function applyEnding(commit: TaskCommit, ending: Ending): void {
  beginStep(commit);
  commit.generation.activity.noteEnded(ending);
  commit.generation.ended.set(ending.task.request_id, ending.task);
  countSettled(commit, ending, 1);
}

/** Begins the present step before what waits or runs changes, and has the steps before it written. */
function beginStep({ generation, group, nowMs }: TaskCommit): void {
  if (generation.activity.begin(nowMs, readLevels(generation))) putActivity(generation, group, nowMs);
}

type Removal = Pick<TaskCommit, 'generation' | 'group'>;

/** Removes the entries of a settled task, and counts it no longer. */
export function removeEntries(removal: Removal, id: string, state: TaskState): void {
  for (const { index, of, atMs } of entriesOf(state)) {
    removeRow(removal.group, `${listingOf(index, of)}/${positionOf(atMs, id)}`);
  }
  const ending = endingOf(id, undefined, state);
  if (ending) countSettled(removal, ending, -1);
}

/** The counts are in the row of the high-water mark. */
function countSettled({ generation, group }: Removal, { task }: Ending, change: 1 | -1): void {
  generation.settledCounts.add(task.outcome, change);
  group.highWaterMark = generation.highWaterMark;
}

/** Adds the entries in memory of a stored open task. */
export function loadEntries({ indexes }: MemoryState, id: string, state: TaskState): void {
  const positionAt = positionsOf(id);
  for (const { index, of, fromMs, atMs } of entriesOf(state)) {
    if (isInMemory(index)) indexes.add(index, of, memoryKeyOf(index, fromMs, positionAt(atMs)));
  }
}

/** An agent's claimable tasks are in the order of the times from which they are; other keys are positions. */
function memoryKeyOf(index: MemoryIndex, fromMs: number, position: string): string {
  return index === 'claimable' ? `${padMs(fromMs)}/${position}` : position;
}

/** The positions of a task. Those of one time are one text, which takes its memory once. */
function positionsOf(id: string): (atMs: number) => string {
  let lastMs: number | undefined;
  let position = '';
  return (atMs) => {
    if (atMs !== lastMs) position = positionOf(atMs, id);
    lastMs = atMs;
    return position;
  };
}
