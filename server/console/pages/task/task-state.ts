/** The state of a task: it waits, its agent has not taken it, it runs, or it has ended. Pure. */
import type { Task, TaskExplanation } from '@task-gateway/sdk';
import { stateOf } from '../../parts/chip.tsx';

export type TaskState = {
  /** A state of `stateOf()`. */
  readonly state: string;
  /**
   * Where the age of an open task begins, in epoch seconds: its submission or, if not taken, its assignment.
   */
  readonly since: number;
};

/** The state of a task. The explanation is read a moment later; until then the task alone decides. */
export function describeState(
  { status, create_time }: Pick<Task, 'status' | 'create_time'>,
  explanation: Pick<TaskExplanation, 'outcome' | 'waiting' | 'acknowledged' | 'assigned_time'> | undefined,
): TaskState {
  if (!explanation) return { state: status, since: create_time };
  const { outcome, waiting, acknowledged, assigned_time } = explanation;
  const state = stateOf({ status, outcome, waiting, acknowledged });
  return { state, since: state === 'not_taken' ? (assigned_time ?? create_time) : create_time };
}
