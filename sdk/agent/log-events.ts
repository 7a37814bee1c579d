/** The notices of an agent, for logs and for people watching it. Nothing depends on them. */
import type { AgentId, RequestId, Task } from '../contract.ts';
import { runCallback } from '../log.ts';

/** One event in the life cycle of an agent. */
export type AgentNotice =
  /** The gateway has accepted the agent's registration. */
  | { readonly kind: 'registered'; readonly agent_id: AgentId; readonly endpoint: string }
  /** The agent has taken a task. */
  | { readonly kind: 'taken'; readonly task: Task }
  /** The handler threw, or returned what can't be a result. The agent reports the task as failed. */
  | { readonly kind: 'failed'; readonly task: Task; readonly error: unknown }
  /** The gateway has the outcome. `accepted` is false if the task was already in a terminal state. */
  | {
      readonly kind: 'reported';
      readonly request_id: RequestId;
      readonly status: 'success' | 'failed';
      readonly accepted: boolean;
      /** Why the task failed; null for a success. */
      readonly error_info: string | null;
    }
  /**
   * The agent stops working on a task, because it was cancelled, timed out, belongs to another agent now, or
   * is unknown.
   */
  | { readonly kind: 'dropped'; readonly request_id: RequestId; readonly reason: string }
  /** No gateway has responded for `seconds`. Emitted at once, then once a minute; the agent keeps trying. */
  | { readonly kind: 'unreachable'; readonly seconds: number; readonly error: Error }
  /** The administrator drained the agent (it finishes its tasks and gets no others), or ended the drain. */
  | { readonly kind: 'drained' | 'undrained'; readonly agent_id: AgentId }
  /**
   * Another process may run under the agent's id. `replaces`: this one registered up to 30 s after a contact
   * of the other. `replaced`: the other has registered since.
   */
  | { readonly kind: 'replaces' | 'replaced'; readonly agent_id: AgentId }
  /** The agent takes no more tasks. It stops when those that it has, `tasks` of them, have ended. */
  | { readonly kind: 'stopping'; readonly tasks: number }
  /** The agent has stopped, and the gateway no longer has it. */
  | { readonly kind: 'unregistered'; readonly agent_id: AgentId }
  /** The gateway responds again, after `seconds` without a response. */
  | { readonly kind: 'reached'; readonly seconds: number }
  /**
   * A call failed, a handler gave a progress that can't be sent, a handler goes on although its task is over
   * (`handler`), or in `runAgent` no code handled a promise that was rejected (`handler` too). The agent
   * continues, and retries where that makes sense.
   */
  | { readonly kind: 'failure'; readonly during: AgentDuty; readonly error: unknown };

/** What the agent was doing when something failed. */
export type AgentDuty =
  | 'register'
  | 'heartbeat'
  | 'claim'
  | 'report'
  | 'push'
  | 'unregister'
  | 'outbox'
  | 'output'
  | 'handler';

export type LogEvent = (event: AgentNotice) => void;

/** Creates the function that hands a notice to these readers. What one throws is only printed. */
export function createEventLog(...readers: readonly (LogEvent | undefined)[]): LogEvent {
  return (event) => {
    for (const reader of readers) runCallback('onNotice', () => reader?.(event));
  };
}
