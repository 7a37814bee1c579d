/**
 * When a task is settled, and the texts by which the gateway says in `error_info` why it settled a task
 * itself.
 */
import type { FailedTask, SuccessfulTask, Task } from './contract.ts';

/** The `error_info` of a task that was cancelled. */
export const CANCELLED_TEXT = 'cancelled by user';
/** The `error_info` of a task whose own `timeout` passed. */
export const TIMEOUT_TEXT = 'timeout';
/** The `error_info` of a task for which no agent qualified. */
export const NO_AGENT_TEXT = '无可用 Agent';

/**
 * Whether a task has reached a terminal state: it succeeded or failed, and will not change any more. A
 * state that this version does not know does not count.
 */
export function isSettled<Payload, Result>(
  task: Task<Payload, Result>,
): task is SuccessfulTask<Payload, Result> | FailedTask<Payload> {
  return task.status === 'success' || task.status === 'failed';
}
