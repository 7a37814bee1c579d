/**
 * The one class under which a task is counted, decided on its state alone, so that all engines count alike.
 * From its assignment a task counts as running until it settles, and then under its outcome while it is
 * stored. For example, a task cancelled yesterday counts under `cancelled` today.
 */
import { outcomeOf } from './history.ts';
import { OUTCOMES, type TaskOutcome } from './history-record.ts';
import type { TaskState } from './task.ts';

export type TaskClass = OpenClass | TaskOutcome;
export type OpenClass = 'pending' | 'running';

export type OutcomeCounts = Readonly<Record<TaskOutcome, number>>;

/** How many tasks are stored. */
export type TaskCounts = {
  readonly pending: number;
  readonly running: number;
  /** How many of the pending and running tasks wait for an agent. */
  readonly waiting: number;
  /** How many of the running tasks have an open question. */
  readonly waitingForAnswer: number;
  /** Settled tasks that are still stored. */
  readonly ended: OutcomeCounts;
};

export function classifyTask(state: TaskState): TaskClass {
  return outcomeOf(state) ?? (state.assignees.length > 0 ? 'running' : 'pending');
}

export function isOutcome(taskClass: TaskClass): taskClass is TaskOutcome {
  return taskClass !== 'pending' && taskClass !== 'running';
}

/** Sets the missing counts to 0. */
export function fillOutcomes(counts: Partial<OutcomeCounts> = {}): Record<TaskOutcome, number> {
  const filled: Partial<Record<TaskOutcome, number>> = {};
  for (const outcome of OUTCOMES) filled[outcome] = counts[outcome] ?? 0;
  return filled as Record<TaskOutcome, number>;
}

/**
 * The tags, each once, for which a task that ended as `no_agent` saw no free agent. Empty for any other task.
 */
export function tagsWithoutAgent(state: TaskState): readonly string[] {
  if (outcomeOf(state) !== 'no_agent') return [];
  const seen = state.seenMatch?.tags ?? [];
  return [...new Set(state.task_tags)].filter((_, index) => (seen[index]?.[1] ?? 0) === 0);
}
