/** A task whose due entry this dispatcher holds, and the two ways to act on it under that lease. */
import type { TaskState } from '../../domain/task.ts';
import type { Trigger } from '../../domain/triggers.ts';
import {
  type CommitConflict,
  type CommitResult,
  type Lease,
  type Stored,
  taskRef,
} from '../../ports/store.ts';
import type { TaskCommits } from './commit-step.ts';
import type { CommitOptions } from './task-batch.ts';

export type LeasedTask = {
  readonly request_id: string;
  readonly lease: Lease;
  readonly before: Stored<TaskState>;
};

/** The result of acting on a leased task. `written` is set if the task's state changed. */
export type LeasedResult = { readonly ok: true; readonly written?: Stored<TaskState> } | CommitConflict;

type Deps = { readonly commits: TaskCommits };

/** Commits one step under the lease. If the step is refused, the state has moved on, so it is read again. */
export async function commitLeased(
  { commits }: Deps,
  { request_id, lease, before }: LeasedTask,
  trigger: Trigger,
  options: CommitOptions = {},
): Promise<LeasedResult> {
  const result = await commits.commitStep(request_id, before, trigger, { lease, ...options });
  switch (result.kind) {
    case 'committed':
      return { ok: true, written: result.written };
    case 'conflict':
      return result.conflict;
    case 'unchanged':
    case 'refused':
      return { ok: false, conflict: 'revision' };
  }
}

/**
 * Sets when the task is due next, and ends the lease. `held` keeps the lease, for a push that goes on.
 * `noneFree` is that of `reschedule()`.
 */
export async function rescheduleLeased(
  { commits }: Deps,
  { request_id, lease }: LeasedTask,
  atMs: number | 'held',
  noneFree?: readonly string[],
): Promise<CommitResult> {
  const ref = taskRef(request_id);
  // Two equal objects with two types: one re-times the entry, the other keeps its lease.
  const due = atMs === 'held' ? { ref, atMs, lease } : { ref, atMs, lease };
  return await commits.reschedule([due], noneFree);
}
