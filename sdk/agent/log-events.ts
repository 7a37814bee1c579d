/** What an agent tells whoever runs it: for logs and screens, nothing depends on it. */
import type { Task } from '../contract.ts';

/** One thing that happened. */
export type AgentNotice =
  | { readonly kind: 'registered'; readonly agent_id: string; readonly endpoint: string }
  | { readonly kind: 'taken'; readonly task: Task }
  /** The gateway has the outcome; `accepted` is false when the task had ended before. */
  | {
      readonly kind: 'reported';
      readonly request_id: string;
      readonly status: 'success' | 'failed';
      readonly accepted: boolean;
    }
  /** The task is none of this agent's any more: cancelled, timed out, moved, or unknown. Its work is stopped. */
  | { readonly kind: 'dropped'; readonly request_id: string; readonly reason: string }
  /** A call failed; the agent goes on and tries again where that makes sense. */
  | { readonly kind: 'failure'; readonly during: AgentDuty; readonly error: unknown };

/** What the agent was about when a call failed. */
export type AgentDuty = 'register' | 'heartbeat' | 'claim' | 'report' | 'push' | 'unregister' | 'outbox';

export type Notify = (notice: AgentNotice) => void;
