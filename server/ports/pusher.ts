/**
 * The port through which an assignment travels to an agent (`pushTask` of the agent's contract).
 * A push never throws and never settles a task: it only tells what became of the attempt.
 */
import type { TaskInfo } from '../domain/task.ts';

export type Push = {
  /** The agent's registered URL, used exactly as it was given. */
  readonly endpoint: string;
  readonly task: TaskInfo;
  /** Seconds until the task's deadline, sent as `task-remaining`. */
  readonly remainingSeconds: number;
  /** Store time, sent as `webhook-timestamp`. */
  readonly nowMs: number;
};

/**
 * What became of a push.
 * - acknowledged: a 2xx status line, or 409 ("I have it").
 * - untaken: it is known that the agent did not take the task. `busy` (429, 503) may go to another agent at once;
 *   `leave` (410) says the agent is offline until it registers or beats.
 * - unknown: everything else; the agent may have the task.
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
  /** Sends one attempt. The signal abandons it: the outcome is then unknown, or untaken if nothing had been written. */
  push(push: Push, signal: AbortSignal): Promise<PushOutcome>;
  /** Closes every connection. Twice is fine. */
  close(): Promise<void>;
};
