/**
 * The codes of errors, as types. Each class has its own codes, but also allows any text, because a later
 * gateway may send more. Nothing of this file is there when a program runs.
 */
import type { Problem } from './contract.ts';

/** A union of codes that also allows others: a later gateway, or a proxy in front of it, may have more. */
export type Open<Code extends string> = Code | (string & {});
/** The codes of the problems with this HTTP status. */
export type ProblemCode<Status extends number> = Open<Extract<Problem, { readonly status: Status }>['code']>;
/** Why there is no usable response. */
export type ConnectionCode =
  | 'connection_failed'
  | 'redirected'
  | 'not_a_gateway'
  | 'id_mismatch'
  | 'not_an_event_stream'
  | 'event_too_large'
  | 'response_too_large';
export type TaskFailureCode = 'task_failed' | 'task_cancelled' | 'task_timeout' | 'no_agent_available';

/** The codes of this version's errors, and any text, because a later gateway may have more. */
export type ErrorCode = Open<
  | Problem['code']
  | 'route_not_found'
  | `http_${number}`
  | ConnectionCode
  | TaskFailureCode
  | StopCode
  | 'invalid_option'
  | 'timeout'
  | 'aborted'
  | 'chunk_not_loaded'
>;

/**
 * Why a handler's signal fired. `task_cancelled`: the gateway no longer wants the task done, because it was
 * cancelled, reached a terminal state, or was assigned to another agent. `task_timeout`: the task's time is
 * over. `agent_stopped`: the agent is being stopped and its time to drain is over.
 */
export type StopCode = 'task_cancelled' | 'task_timeout' | 'agent_stopped';
