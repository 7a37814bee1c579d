/** The triggers of a task's steps, the results of `step.ts`, and which steps need the task's details. */
import type { WrittenQuestion } from './question.ts';
import { hasDetails, isSettled, type JsonObject, type TaskDetails, type TaskState } from './task.ts';

/** An outcome of a push for the history: when it came, its status or error, and how long the push took. */
export type PushNote = {
  readonly ms: number;
  readonly what?: string | null;
  readonly tookMs?: number | null;
};

export type Trigger =
  /** `attempted`: the first push begins with the assignment. A pull agent's first attempt is its claim. */
  | {
      readonly type: 'assign';
      readonly agent_id: string;
      readonly attempted: boolean;
      readonly nextMs: number;
    }
  | { readonly type: 'wait' }
  | { readonly type: 'stay' }
  /** `pull`: a claim hands the task out; otherwise a push begins. */
  | { readonly type: 'attempt'; readonly pull: boolean; readonly nextMs: number }
  | { readonly type: 'fetch' }
  | {
      readonly type: 'untaken';
      readonly agent_id: string;
      readonly attempt: number;
      readonly nextMs: number;
      /** If the agent was busy: until when the task is offered to other agents first. */
      readonly busyUntilMs: number | null;
      readonly push?: PushNote;
    }
  /** The agent may have the task. Only the history and the time of the next push change. */
  | {
      readonly type: 'unknown';
      readonly agent_id: string;
      readonly attempt: number;
      readonly nextMs: number;
      readonly push?: PushNote;
    }
  | {
      readonly type: 'acknowledge';
      readonly agent_id: string;
      /** The number of the acknowledged push; null if the agent named the task itself. */
      readonly attempt: number | null;
      readonly push?: PushNote;
    }
  /** `attempts`: how many attempts there were when the agent's list was compared with its tasks. */
  | { readonly type: 'disown'; readonly agent_id: string; readonly attempts: number }
  | {
      readonly type: 'reassign';
      readonly agent_id: string;
      readonly attempted: boolean;
      readonly nextMs: number;
      /** The present agent has been offline or unregistered for 90 s. */
      readonly agentGone: boolean;
    }
  | {
      readonly type: 'progress';
      readonly agent_id: string;
      readonly progress: number | null;
      /** The task's first reply is added to its final result if the result has none. */
      readonly reply: string | null;
      readonly details?: TaskDetails;
    }
  /**
   * The agent writes output in a call that is a step: a writer begins, or the present writer (`isSameWriter`)
   * asks questions that are not stored yet. Other pieces of the present writer are appended without a step.
   * For example, three calls bring the pieces 0, 1 and 2, and piece 2 is a question: only the calls with 0
   * and 2 are steps.
   */
  | {
      readonly type: 'write';
      readonly agent_id: string;
      readonly isSameWriter?: true;
      readonly questions?: readonly WrittenQuestion[];
      readonly details?: TaskDetails;
    }
  | {
      readonly type: 'answer';
      readonly key: string;
      readonly answer: unknown;
      readonly details?: TaskDetails;
    }
  | {
      readonly type: 'succeed';
      readonly agent_id: string;
      readonly result: JsonObject | null;
      /** If the result is given as text: whether it has a reply of its own. */
      readonly hasReply?: boolean;
      readonly details?: TaskDetails;
    }
  | {
      readonly type: 'fail';
      readonly agent_id: string;
      readonly error_info: string | null;
      readonly progress: number | null;
    }
  | { readonly type: 'lose'; readonly seconds: number }
  | { readonly type: 'cancel' }
  | { readonly type: 'expire' }
  | { readonly type: 'abandon' };

/**
 * Why a step is refused. `task_not_pending`, `task_not_running` and `task_not_movable` never reach the wire.
 * `wrong_question` and `wrong_answer` become a 422 that names the mistakes.
 */
export type Refusal =
  | 'task_not_pending'
  | 'task_not_running'
  | 'task_not_movable'
  | 'task_terminal'
  | 'agent_mismatch'
  | 'not_asked'
  | 'wrong_question'
  | 'wrong_answer';

/**
 * The state after an allowed step, and the details if they change (null removes them); or why it is refused.
 */
export type Step =
  | { readonly ok: true; readonly state: TaskState; readonly details?: TaskDetails | null }
  | { readonly ok: false; readonly refusal: Refusal };

/** Whether the step needs the task's details. If so, the trigger must carry them. */
export function needsDetails(state: TaskState, trigger: Trigger): boolean {
  if (!hasDetails(state) || isSettled(state)) return false;
  switch (trigger.type) {
    case 'progress':
      return trigger.reply !== null && !state.hasReply;
    case 'write':
      return trigger.questions !== undefined;
    case 'answer':
      return true;
    case 'succeed':
      return state.hasReply === true && !(trigger.hasReply ?? Object.hasOwn(trigger.result ?? {}, 'reply'));
    default:
      return false;
  }
}
