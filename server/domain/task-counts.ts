/**
 * What each task is counted under: one class, decided on its state alone, so that both engines count alike.
 * A task that was assigned is running until it settles; a settled one is counted under its outcome for as
 * long as it is stored.
 */
import { outcomeOf } from './history.ts';
import { OUTCOMES, type TaskOutcome } from './history-record.ts';
import type { TaskState } from './task.ts';

/** What a task is counted under. */
export type TaskClass = OpenClass | TaskOutcome;
/** What an open task is counted under. */
export type OpenClass = 'pending' | 'running';

export type OutcomeCounts = Readonly<Record<TaskOutcome, number>>;

/** How many tasks are stored. */
export type TaskCounts = {
  readonly pending: number;
  readonly running: number;
  /** Of the pending and the running ones: those that wait for an agent. */
  readonly waiting: number;
  /** The settled ones that are still stored. */
  readonly ended: OutcomeCounts;
};

/** The class of a task in this state. */
export function classifyTask(state: TaskState): TaskClass {
  return outcomeOf(state) ?? (state.assignees.length > 0 ? 'running' : 'pending');
}

/** Whether the class is an outcome: the task has settled. */
export function isOutcome(taskClass: TaskClass): taskClass is TaskOutcome {
  return taskClass !== 'pending' && taskClass !== 'running';
}

/** Counts for every outcome; 0 where none is given. */
export function fillOutcomes(counts: Partial<OutcomeCounts> = {}): Record<TaskOutcome, number> {
  const filled: Partial<Record<TaskOutcome, number>> = {};
  for (const outcome of OUTCOMES) filled[outcome] = counts[outcome] ?? 0;
  return filled as Record<TaskOutcome, number>;
}

/**
 * The tags for which a task that ended as `no_agent` found no agent: each once, those left out for which the
 * decision saw a free one. Empty for any other task.
 */
export function tagsWithoutAgent(state: TaskState): readonly string[] {
  if (outcomeOf(state) !== 'no_agent') return [];
  const seen = state.seenMatch?.tags ?? [];
  return [...new Set(state.task_tags)].filter((_, index) => (seen[index]?.[1] ?? 0) === 0);
}
