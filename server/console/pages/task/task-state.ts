/** Where a task is: it waits, its agent has not taken it, it runs, or how it ended. Pure. */
import type { Task, TaskExplanation } from '@task-gateway/sdk';
import { stateOf } from '../../parts/chip.tsx';

export type TaskState = {
  /** As `stateOf()` has it. */
  readonly state: string;
  /** From when on an open task is counted, in epoch seconds: since it was assigned if it is not taken. */
  readonly since: number;
};

/** The state of a task; without an explanation, which is read a moment later, by the task alone. */
export function describeState(
  { status, create_time }: Pick<Task, 'status' | 'create_time'>,
  explanation: Pick<TaskExplanation, 'outcome' | 'waiting' | 'acknowledged' | 'assigned_time'> | undefined,
): TaskState {
  if (!explanation) return { state: status, since: create_time };
  const { outcome, waiting, acknowledged, assigned_time } = explanation;
  const state = stateOf({ status, outcome, waiting, acknowledged });
  return { state, since: state === 'not_taken' ? (assigned_time ?? create_time) : create_time };
}
