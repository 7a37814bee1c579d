/**
 * The port through which an assignment reaches an agent (`pushTask` of the agent's contract). A push never
 * throws and never settles a task: it only returns the outcome of the attempt.
 */
import type { TaskInfo } from '../domain/task.ts';
import type { TraceContext } from '../domain/trace-context.ts';

export type Push = {
  /** The agent's URL, exactly as registered. */
  readonly endpoint: string;
  readonly task: TaskInfo;
  /** Seconds until the task's deadline, sent as `task-remaining`. */
  readonly remainingSeconds: number;
  /** Sent as `traceparent` and `tracestate`. Without a trace, a new one begins with this push. */
  readonly trace?: TraceContext;
};

/**
 * The outcome of a push.
 * - acknowledged: a 2xx status line, or 409 ("I have it").
 * - untaken: the agent certainly did not take the task. After `busy` (429, 503) the task may go to another
 *   agent at once; `leave` (410) means that the agent is offline until it registers or sends a heartbeat.
 * - unknown: everything else. The agent may have the task.
 */
export type PushOutcome =
  | { readonly kind: 'acknowledged'; readonly status: number }
  | {
      readonly kind: 'untaken';
      readonly status: number | null;
      readonly error: string;
      readonly busy: boolean;
      readonly leave: boolean;
      readonly retryAfterMs: number | null;
    }
  | {
      readonly kind: 'unknown';
      readonly status: number | null;
      readonly error: string;
      readonly retryAfterMs: number | null;
    };

export type Pusher = {
  /**
   * Sends one attempt. If the signal fires, the outcome is unknown, or untaken if nothing had been written.
   * The task is encoded before the call returns its promise. `onSent` is called, perhaps more than once, when
   * the whole request is written; the response may come minutes later.
   */
  push(push: Push, signal: AbortSignal, onSent?: () => void): Promise<PushOutcome>;
  /** Closes every connection. Idempotent. */
  close(): Promise<void>;
};
