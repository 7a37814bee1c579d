/** The errors of failed tasks, thrown by `runTask` and `followTask`. Plain calls return it as data. */
import type { FailedTask, RequestId, TaskExplanation } from './contract.ts';
import type { ErrorCode, Open, TaskFailureCode } from './error-codes.ts';
import { TaskGatewayError } from './errors.ts';
import { outcomeOf } from './settled.ts';

/** The task failed. `code`: `task_failed`. */
export class TaskFailedError extends TaskGatewayError {
  override readonly name: string = 'TaskFailedError';
  declare readonly code: Open<TaskFailureCode>;
  /** The task in its terminal state. */
  readonly task: FailedTask;
  override readonly request_id: RequestId;

  constructor(task: FailedTask, code: ErrorCode = 'task_failed', advice = '') {
    super(code, `Task ${task.request_id} failed: ${task.error_info ?? 'no reason given'}${advice}`);
    this.task = task;
    this.request_id = task.request_id;
  }
}

/** The task was cancelled. `code`: `task_cancelled`. */
export class TaskCancelledError extends TaskFailedError {
  override readonly name: string = 'TaskCancelledError';
  declare readonly code: 'task_cancelled';

  constructor(task: FailedTask) {
    super(task, 'task_cancelled');
  }
}

/** The task's own `timeout` passed. `code`: `task_timeout`. */
export class TaskTimeoutError extends TaskFailedError {
  override readonly name: string = 'TaskTimeoutError';
  declare readonly code: 'task_timeout';

  constructor(task: FailedTask) {
    super(task, 'task_timeout');
  }
}

/**
 * No agent qualified: none with a tag in common, in the right state and with a free slot. `code`:
 * `no_agent_available`. If the gateway explained it in time, the message says why and what to do.
 */
export class NoAgentAvailableError extends TaskFailedError {
  override readonly name: string = 'NoAgentAvailableError';
  declare readonly code: 'no_agent_available';
  /** Which agents there were, and what to do; absent if the gateway did not explain it within 2 s. */
  declare readonly explanation: TaskExplanation | undefined;

  constructor(task: FailedTask, explanation?: TaskExplanation) {
    const tags = JSON.stringify(task.task_tags);
    const advice =
      explanation?.hint ??
      `No agent with one of the tags ${tags} had a free slot in time: start one, or raise queue_timeout.`;
    super(task, 'no_agent_available', ` (no agent available). ${advice}`);
    this.explanation = explanation;
  }
}

/** Creates the error for a failed task, of the class that belongs to its outcome. */
export function createTaskError(task: FailedTask): TaskFailedError {
  switch (outcomeOf(task)) {
    case 'cancelled':
      return new TaskCancelledError(task);
    case 'timeout':
      return new TaskTimeoutError(task);
    case 'no_agent':
      return new NoAgentAvailableError(task);
    default:
      return new TaskFailedError(task);
  }
}
