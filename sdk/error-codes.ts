/**
 * The codes of errors, as types: each class has those of its own, and any text, because a later gateway may
 * send more. Nothing of this is there when a program runs.
 */
import type { Problem } from './contract.ts';

/** Codes that a later version, or something in front of the gateway, may add to. */
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
/** Why a task failed. */
export type TaskFailureCode = 'task_failed' | 'task_cancelled' | 'task_timeout' | 'no_agent_available';

/** The codes of errors: those of this version, and any text, because a later gateway may have more. */
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
 * Why a handler's signal fired. `task_cancelled`: the gateway no longer wants the task done (it was
 * cancelled, reached a terminal state, or was assigned to another agent). `task_timeout`: its time is over.
 * `agent_stopped`: the agent is being stopped and its time to drain is over.
 */
export type StopCode = 'task_cancelled' | 'task_timeout' | 'agent_stopped';
