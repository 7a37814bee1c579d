/**
 * The class under which a task is counted: one, decided on its state alone, so that all engines count alike.
 * When a task is assigned, it is running until it settles; when it has settled, it counts under its outcome
 * for as long as it is stored. For example, a task cancelled yesterday counts under `cancelled` today.
 */
import { outcomeOf } from './history.ts';
import { OUTCOMES, type TaskOutcome } from './history-record.ts';
import type { TaskState } from './task.ts';

export type TaskClass = OpenClass | TaskOutcome;
/** The class of an open task. */
export type OpenClass = 'pending' | 'running';

export type OutcomeCounts = Readonly<Record<TaskOutcome, number>>;

/** How many tasks are stored. */
export type TaskCounts = {
  readonly pending: number;
  readonly running: number;
  /** How many of the pending and the running ones wait for an agent. */
  readonly waiting: number;
  /** How many of the running ones have an open question. */
  readonly waitingForAnswer: number;
  /** The settled ones, as long as they are stored. */
  readonly ended: OutcomeCounts;
};

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
