/**
 * When a task is settled and how it ended. Holds the texts of `error_info` by which the gateway says why it
 * settled a task itself.
 */
import type { FailedTask, SuccessfulTask, Task, TaskOutcome } from './contract.ts';

/** The `error_info` of a task that was cancelled. */
const CANCELLED_TEXT = 'cancelled by user';
/** The `error_info` of a task whose own `timeout` passed. */
export const TIMEOUT_TEXT = 'timeout';
/** The `error_info` of a task for which no agent qualified. */
const NO_AGENT_TEXT = '无可用 Agent';

/**
 * Whether a task has reached a terminal state: it succeeded or failed, and will not change any more. A status
 * that this version does not know does not count.
 */
export function isSettled<Payload, Result>(
  task: Task<Payload, Result>,
): task is SuccessfulTask<Payload, Result> | FailedTask<Payload> {
  return task.status === 'success' || task.status === 'failed';
}

/**
 * Gives a settled task its `outcome`: that of the header `Task-Outcome`, if it fits the status. A gateway
 * that follows only the specification does not send the header, and a mock sends the same one with every
 * task: then the text of the error decides. The property is not enumerable, so that the task's JSON has only
 * the fields of the wire.
 */
export function addOutcome<Read extends Task<unknown, unknown>>(task: Read, header: string | null): Read {
  if (!isSettled(task)) return task;
  const fits = header !== null && (header === 'success') === (task.status === 'success');
  return Object.defineProperty(task, 'outcome', { value: fits ? header : outcomeOf(task) });
}

/** Returns how a settled task ended: its `outcome`, or what its `error_info` says if it has none. */
export function outcomeOf({ status, error_info, outcome }: SettledTask): TaskOutcome {
  if (outcome) return outcome;
  if (status === 'success') return status;
  switch (error_info) {
    case CANCELLED_TEXT:
      return 'cancelled';
    case TIMEOUT_TEXT:
      return 'timeout';
    case NO_AGENT_TEXT:
      return 'no_agent';
    default:
      return /^agent lost: no contact for \d+ s$/.test(error_info) ? 'agent_lost' : 'failed';
  }
}

type SettledTask =
  | Pick<SuccessfulTask, 'status' | 'error_info' | 'outcome'>
  | Pick<FailedTask, 'status' | 'error_info' | 'outcome'>;
