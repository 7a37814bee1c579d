/**
 * The questions in the state of a running task: what an agent's write, an answer and a move make of them.
 * Pure. A question goes this way:
 *
 *   asked ──▶ open ── answer ──▶ answered: stays so when it is asked again
 *              │ ▲
 *   new writer,│ │ asked again
 *   move       ▼ │
 *           withdrawn: the first to go when a task has sixteen
 */
import { isSameJson } from './canonical-json.ts';
import {
  findAnswerErrors,
  isOpen,
  type NewQuestion,
  type TaskQuestion,
  type WrittenQuestion,
} from './question.ts';
import { isSettled, type TaskState } from './task.ts';
import type { Step, Trigger } from './triggers.ts';

type Write = Extract<Trigger, { type: 'write' }>;

/** Questions of one task at most, the withdrawn ones included. */
const QUESTIONS_MAX = 16;

/** The open question that was asked first; undefined if the task has none, or has settled. */
export function findOpenQuestion(state: TaskState): TaskQuestion | undefined {
  if (!state.questions || isSettled(state)) return undefined;
  return state.questions.filter(isOpen).sort((a, b) => a.askedMs - b.askedMs)[0];
}

/** Whether the task runs and has an open question. */
export function isWaitingForAnswer(state: TaskState): boolean {
  return findOpenQuestion(state) !== undefined;
}

/** The state when the writer of its output is gone: no agent waits for an answer. */
export function withdrawQuestions(state: TaskState): TaskState {
  if (!state.questions?.some(({ at }) => at !== null)) return state;
  const questions = state.questions.map((question): TaskQuestion => {
    const after = { ...question, at: null };
    return isOpen(question) ? { ...after, isWithdrawn: true } : after;
  });
  return { ...state, questions };
}

/** A write into the output of a running task; `state` is acknowledged. */
export function writeQuestions(state: TaskState, trigger: Write, nowMs: number): Step {
  const questions = askQuestions(questionsBefore(state, trigger), trigger, nowMs);
  if ('why' in questions) return { ok: false, refusal: 'wrong_question' };
  const written = { ...state, hasOutput: true } as const;
  return { ok: true, state: questions.length > 0 ? { ...written, questions } : written };
}

/** Why a question is refused, and which: by its number among the pieces of its writer. */
type RefusedQuestion = { readonly at: number; readonly why: 'other content' | 'too many' };

/** The first question of the write that is refused beside those that the task has. */
export function findRefused(state: TaskState, trigger: Write): RefusedQuestion | null {
  const outcome = askQuestions(questionsBefore(state, trigger), trigger, 0);
  return 'why' in outcome ? outcome : null;
}

/** The questions that the write asks again and that have an answer: readers get it again behind them. */
export function listAnsweredAgain(state: TaskState, trigger: Write): readonly TaskQuestion[] {
  const known = questionsBefore(state, trigger);
  return (trigger.questions ?? []).flatMap(({ key }) =>
    known.filter((one) => one.key === key && one.answered !== undefined),
  );
}

/** The questions of the write that its writer has asked before and that still wait for an answer. */
export function listOpenAgain(state: TaskState, trigger: Write): readonly WrittenQuestion[] {
  const known = questionsBefore(state, trigger);
  return (trigger.questions ?? []).filter(({ key }) => known.some((one) => one.key === key && isOpen(one)));
}

/** The questions of the task as the write finds them: if another writer begins, without its predecessor. */
function questionsBefore(state: TaskState, { isSameWriter }: Write): readonly TaskQuestion[] {
  return (isSameWriter ? state : withdrawQuestions(state)).questions ?? [];
}

/** The task’s questions behind the write; if one of them is refused, that one and why. */
function askQuestions(
  known: readonly TaskQuestion[],
  write: Write,
  nowMs: number,
): readonly TaskQuestion[] | RefusedQuestion {
  let questions = known;
  for (const question of write.questions ?? []) {
    const { key, at } = question;
    const same = questions.find((one) => one.key === key);
    // Also of a withdrawn one: a person may be about to send the answer to what it asked.
    if (same && !isSameJson(contentOf(same), contentOf(question))) return { at, why: 'other content' };
    if (same && !same.isWithdrawn) {
      questions = questions.map((one) => (one === same ? { ...one, at } : one));
      continue;
    }
    const others = questions.filter((one) => one !== same);
    if (others.length >= QUESTIONS_MAX) {
      const oldest = others.findIndex((one) => one.isWithdrawn);
      if (oldest < 0) return { at, why: 'too many' };
      others.splice(oldest, 1);
    }
    questions = [...others, { ...question, askedMs: nowMs }];
  }
  return questions;
}

function contentOf({ prompt, schema }: NewQuestion): readonly unknown[] {
  return [prompt, schema];
}

/** An answer of a client: the first one counts, and the same one again changes nothing. */
export function answerQuestion(
  state: TaskState,
  { key, answer }: Extract<Trigger, { type: 'answer' }>,
  nowMs: number,
): Step {
  const { questions = [] } = state;
  const question = questions.find((one) => one.key === key);
  if (!question || question.isWithdrawn) return { ok: false, refusal: 'not_asked' };
  const { answered } = question;
  if (answered && isSameJson(answered.answer, answer)) return { ok: true, state };
  if (answered) return { ok: false, refusal: 'not_asked' };
  if (findAnswerErrors(question.schema, answer).length > 0) return { ok: false, refusal: 'wrong_answer' };
  const after = { ...question, answered: { ms: nowMs, answer } };
  return {
    ok: true,
    state: { ...state, questions: questions.map((one) => (one === question ? after : one)) },
  };
}
