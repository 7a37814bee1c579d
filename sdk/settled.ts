/**
 * When a task is settled and how it ended, and the texts by which the gateway says in `error_info` why it
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
 * Whether a task has reached a terminal state: it succeeded or failed, and will not change any more. A
 * state that this version does not know does not count.
 */
export function isSettled<Payload, Result>(
  task: Task<Payload, Result>,
): task is SuccessfulTask<Payload, Result> | FailedTask<Payload> {
  return task.status === 'success' || task.status === 'failed';
}

/**
 * Gives a settled task its `outcome`: that of the header `Task-Outcome`, if it fits the status. A gateway
 * that knows the specification alone does not send it, and a mock sends the same with every task: there the
 * text of the error counts. The property is not enumerable: as JSON the task has the fields of the wire
 * alone.
 */
export function addOutcome<Read extends Task<unknown, unknown>>(task: Read, header: string | null): Read {
  if (!isSettled(task)) return task;
  const fits = header !== null && (header === 'success') === (task.status === 'success');
  return Object.defineProperty(task, 'outcome', { value: fits ? header : outcomeOf(task) });
}

/** How a settled task ended: its `outcome`; if it has none, what its `error_info` says. */
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
