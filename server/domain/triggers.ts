/** The triggers of a task's steps, when these need its details, and the results of `step.ts`. */
import type { WrittenQuestion } from './question.ts';
import { hasDetails, isSettled, type JsonObject, type TaskDetails, type TaskState } from './task.ts';

/**
 * An outcome of a push as the history has it: when it came, its status or error, and how long the push took.
 */
export type PushNote = {
  readonly ms: number;
  readonly what?: string | null;
  readonly tookMs?: number | null;
};

export type Trigger =
  /** `attempted`: the first push starts with the assignment; a pull agent's first attempt is its claim. */
  | {
      readonly type: 'assign';
      readonly agent_id: string;
      readonly attempted: boolean;
      readonly nextMs: number;
    }
  | { readonly type: 'wait' }
  | { readonly type: 'stay' }
  /** `pull`: a claim hands the task out; else a push starts. */
  | { readonly type: 'attempt'; readonly pull: boolean; readonly nextMs: number }
  | { readonly type: 'fetch' }
  | {
      readonly type: 'untaken';
      readonly agent_id: string;
      readonly attempt: number;
      readonly nextMs: number;
      /** Until when other agents are offered this task first, if the agent was busy. */
      readonly busyUntilMs: number | null;
      readonly push?: PushNote;
    }
  /** The agent may have the task. Only the history changes, and when the task is pushed again. */
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
      /** The acknowledged push; null when the agent named the task itself. */
      readonly attempt: number | null;
      readonly push?: PushNote;
    }
  /** `attempts`: how many there were when the agent's list was compared with its tasks. */
  | { readonly type: 'disown'; readonly agent_id: string; readonly attempts: number }
  | {
      readonly type: 'reassign';
      readonly agent_id: string;
      readonly attempted: boolean;
      readonly nextMs: number;
      /** The present agent is gone: offline or unregistered for 90 s. */
      readonly agentGone: boolean;
    }
  | {
      readonly type: 'progress';
      readonly agent_id: string;
      readonly progress: number | null;
      /** The task's first reply joins its final result if the result has none. */
      readonly reply: string | null;
      readonly details?: TaskDetails;
    }
  /**
   * The agent writes output, and its call is a step: a writer begins, or the present one (`isSameWriter`)
   * asks questions that are not stored yet. Other pieces of the present writer are appended without a step.
   * For example, the pieces 0, 1 and 2 come in a call each, and 2 is a question: the calls with 0 and 2 are
   * steps.
   */
  | {
      readonly type: 'write';
      readonly agent_id: string;
      readonly isSameWriter?: true;
      readonly questions?: readonly WrittenQuestion[];
      readonly details?: TaskDetails;
    }
  /** A client answers the question of this key. */
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
      /** Whether the result has a reply of its own, if it is given as its text. */
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
 * Why a step is not allowed. `task_not_pending`, `task_not_running` and `task_not_movable` never reach the
 * wire. `wrong_question` and `wrong_answer` become a 422: `question.ts` says about what.
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

/** A step that is allowed: the state after it and, where they change, the details; null removes them. */
export type Step =
  | { readonly ok: true; readonly state: TaskState; readonly details?: TaskDetails | null }
  | { readonly ok: false; readonly refusal: Refusal };

/** Whether the step rests on the task's details: the trigger must come with them then. */
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
