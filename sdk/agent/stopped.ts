/** Why a handler's signal fires. */
import { TaskGatewayError } from '../errors.ts';

/**
 * `task_cancelled`: the gateway does not want the task done any more (it was cancelled, has ended, or is another
 * agent's now). `task_timeout`: its time is over. `agent_stopped`: the agent stops and its time to drain is over.
 */
export type StopCode = 'task_cancelled' | 'task_timeout' | 'agent_stopped';

/** The reason of a handler's signal; `code` says which. A handler may throw it. */
export class WorkStoppedError extends TaskGatewayError {
  override readonly name: string = 'WorkStoppedError';
  declare readonly code: StopCode;

  constructor(code: StopCode, message: string) {
    super(code, message);
  }
}
