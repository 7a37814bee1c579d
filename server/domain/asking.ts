/**
 * The questions of a running task, and how an agent's write, an answer and a move change them. Pure. The
 * state of the task says which questions there are; prompts, schemas and answers are in the details. A
 * question goes this way:
 *
 *   asked ──▶ open ── answer ──▶ answered: stays answered when asked again
 *              │ ▲
 *   new writer,│ │ asked again
 *   move       ▼ │
 *           withdrawn: dropped first when a task has sixteen
 */
import { isSameJson } from './canonical-json.ts';
import {
  findAnswerErrors,
  isOpen,
  type NewQuestion,
  type QuestionContent,
  type TaskQuestion,
  type WrittenQuestion,
} from './question.ts';
import { isSettled, type TaskState } from './task.ts';
import type { Step, Trigger } from './triggers.ts';

type Write = Extract<Trigger, { type: 'write' }>;

/** How many questions a task has at most, withdrawn ones included. */
const QUESTIONS_MAX = 16;

/** The open question that was asked first; undefined if the task has no open question or has settled. */
export function findOpenQuestion(state: TaskState): TaskQuestion | undefined {
  if (!state.questions || isSettled(state)) return undefined;
  return state.questions.filter(isOpen).sort((a, b) => a.askedMs - b.askedMs)[0];
}

export function isWaitingForAnswer(state: TaskState): boolean {
  return findOpenQuestion(state) !== undefined;
}

/** The state after the writer of the output is gone: no agent waits for an answer any more. */
export function withdrawQuestions(state: TaskState): TaskState {
  if (!state.questions?.some(({ at }) => at !== null)) return state;
  const questions = state.questions.map((question): TaskQuestion => {
    const after = { ...question, at: null };
    return isOpen(question) ? { ...after, isWithdrawn: true } : after;
  });
  return { ...state, questions };
}

/** Decides a write into the output of a running task. `state` is already acknowledged. */
export function writeQuestions(state: TaskState, trigger: Write, nowMs: number): Step {
  const asked = askQuestions(state, trigger, nowMs);
  if ('why' in asked) return { ok: false, refusal: 'wrong_question' };
  const { questions, contents } = asked;
  const written = { ...state, hasOutput: true, ...(questions.length > 0 && { questions }) } as const;
  if (!contents) return { ok: true, state: written };
  return { ok: true, state: written, details: { ...trigger.details, questions: contents } };
}

/** A refused question: `at` is its number among the pieces of its writer, `why` the reason. */
type RefusedQuestion = { readonly at: number; readonly why: 'other content' | 'too many' };

/**
 * The first question of the write that the task cannot take beside its present questions; null if it takes
 * all.
 */
export function findRefused(state: TaskState, trigger: Write): RefusedQuestion | null {
  const outcome = askQuestions(state, trigger, 0);
  return 'why' in outcome ? outcome : null;
}

/** The questions of the write that are already answered. Readers get each answer again after its question. */
export function listAnsweredAgain(state: TaskState, trigger: Write): readonly QuestionContent[] {
  const known = questionsBefore(state, trigger);
  return (trigger.questions ?? []).flatMap(({ key }) => {
    const isAnswered = known.some((one) => one.key === key && one.answeredMs !== undefined);
    return isAnswered ? (findContent(trigger, key) ?? []) : [];
  });
}

/** The questions of the write that the same writer asked before, if they are still open. */
export function listOpenAgain(state: TaskState, trigger: Write): readonly WrittenQuestion[] {
  const known = questionsBefore(state, trigger);
  return (trigger.questions ?? []).filter(({ key }) => known.some((one) => one.key === key && isOpen(one)));
}

/**
 * The questions of the task before the write. If another writer begins, the open questions of the earlier
 * writer are withdrawn.
 */
function questionsBefore(state: TaskState, { isSameWriter }: Write): readonly TaskQuestion[] {
  return (isSameWriter ? state : withdrawQuestions(state)).questions ?? [];
}

/**
 * The task's questions after a write. `contents` is set, with those of all questions, if the write added a
 * question.
 */
type AskedQuestions = {
  readonly questions: readonly TaskQuestion[];
  readonly contents?: readonly QuestionContent[];
};

/** Adds the questions of the write, or returns the first question that is refused. */
function askQuestions(state: TaskState, write: Write, nowMs: number): AskedQuestions | RefusedQuestion {
  let questions = questionsBefore(state, write);
  let isChanged = false;
  const contents = new Map(write.details?.questions?.map((content) => [content.key, content]));
  for (const { at, ...content } of write.questions ?? []) {
    const { key } = content;
    const same = questions.find((one) => one.key === key);
    const known = same && contents.get(key);
    // A withdrawn question keeps its content too: a person may be about to answer it.
    if (known && !isSameJson(contentOf(known), contentOf(content))) return { at, why: 'other content' };
    if (same && !same.isWithdrawn) {
      questions = questions.map((one) => (one === same ? { ...one, at } : one));
      continue;
    }
    const others = questions.filter((one) => one !== same);
    if (others.length >= QUESTIONS_MAX) {
      const oldest = others.findIndex((one) => one.isWithdrawn);
      if (oldest < 0) return { at, why: 'too many' };
      for (const dropped of others.splice(oldest, 1)) contents.delete(dropped.key);
    }
    questions = [...others, { key, at, askedMs: nowMs }];
    contents.set(key, content);
    isChanged = true;
  }
  return { questions, ...(isChanged && { contents: [...contents.values()] }) };
}

function contentOf({ prompt, schema }: NewQuestion): readonly unknown[] {
  return [prompt, schema];
}

function findContent({ details }: Pick<Trigger & { type: 'write' | 'answer' }, 'details'>, key: string) {
  return details?.questions?.find((one) => one.key === key);
}

/** Decides an answer of a client: the first answer counts, and repeating it changes nothing. */
export function answerQuestion(
  state: TaskState,
  trigger: Extract<Trigger, { type: 'answer' }>,
  nowMs: number,
): Step {
  const { key, answer, details } = trigger;
  const { questions = [] } = state;
  const question = questions.find((one) => one.key === key);
  if (!question || question.isWithdrawn) return { ok: false, refusal: 'not_asked' };
  const content = findContent(trigger, key);
  if (!isOpen(question)) {
    return isSameJson(content?.answer, answer) ? { ok: true, state } : { ok: false, refusal: 'not_asked' };
  }
  if (findAnswerErrors(content?.schema, answer).length > 0) return { ok: false, refusal: 'wrong_answer' };
  return {
    ok: true,
    state: {
      ...state,
      questions: questions.map((one) => (one === question ? { ...one, answeredMs: nowMs } : one)),
    },
    details: {
      ...details,
      questions: (details?.questions ?? []).map((one) => (one === content ? { ...one, answer } : one)),
    },
  };
}
