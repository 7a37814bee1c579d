/**
 * Asks the caller of a run the questions of its task: each once, even if the stream repeats it after a
 * reconnection or the agent begins anew. A question that has an answer is not asked.
 */
import { type Clock, linkSignals } from '../clock.ts';
import type { OutputPiece, Question } from '../contract.ts';
import { ApiError, ConnectionError } from '../errors.ts';
import { checkTransient, choosePauseMs } from '../waiting.ts';

/**
 * Returns the answer to a question, or undefined to leave it to others. `signal` fires when no answer is
 * needed any more, because another client has answered or the run has ended.
 */
export type OnQuestion = (question: Question, options: { readonly signal: AbortSignal }) => unknown;

export type RunQuestionsDeps = {
  readonly clock: Clock;
  readonly onQuestion: OnQuestion;
  /** Reads the stored pieces behind a number. */
  readonly readBehind: (n: number) => AsyncIterable<OutputPiece>;
  readonly sendAnswer: (key: string, answer: unknown) => Promise<unknown>;
  /** Called with what the callback threw, or why its answer was refused. */
  readonly onFailed: (error: unknown) => void;
  /** Fires when the run ends. */
  readonly signal: AbortSignal;
};

type Asked = {
  readonly content: string;
  /** Whether the agent still waits. A later piece may withdraw the question or answer it. */
  isOpen: boolean;
  readonly stop: AbortController['abort'];
  readonly signal: AbortSignal;
  /** The callback's answer, once it has been called. */
  answer?: Promise<unknown>;
};

const BACKOFF = { firstMs: 500, maxMs: 10_000 };

/** Creates a function that takes the pieces of a run's output and asks their questions. */
export function createRunQuestions(deps: RunQuestionsDeps): { take(piece: OutputPiece): void } {
  const { clock, onQuestion, signal } = deps;
  const asked = new Map<string, Asked>();
  /** The checks of earlier questions, so that the caller is asked in order. */
  let checks: Promise<unknown> = Promise.resolve();

  function forget(key: string): void {
    const one = asked.get(key);
    if (one) one.isOpen = false;
    one?.stop();
    asked.delete(key);
  }

  function begin(content: string): Asked {
    const { signal: own, abort: stop } = linkSignals(signal);
    return { content, isOpen: true, stop, signal: own };
  }

  /** Repeats a call until it succeeds, or fails in a way that another attempt does not solve. */
  async function insist<Value>(call: () => Promise<Value>): Promise<Value> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await call();
      } catch (error) {
        if (signal.aborted || !(checkTransient(error) || error instanceof ConnectionError)) throw error;
        await clock.sleep(choosePauseMs(clock, BACKOFF, failures), signal);
      }
    }
  }

  /** Whether a stored piece behind a question answers it or withdraws it. */
  async function isAnswered(n: number, key: string): Promise<boolean> {
    for await (const { answer, reset, end } of deps.readBehind(n)) {
      if (answer?.key === key || reset || end) return true;
    }
    return false;
  }

  async function answerOne(n: number, question: Question, one: Asked): Promise<void> {
    const { key } = question;
    const check = checks.then(() => insist(() => isAnswered(n, key)));
    checks = check.catch(() => undefined);
    try {
      if (await check) return;
      if (!one.isOpen || signal.aborted) return;
      one.answer ??= (async () => await onQuestion(question, { signal: one.signal }))();
      const answer = await one.answer;
      if (answer === undefined || !one.isOpen || signal.aborted) return;
      await insist(() => deps.sendAnswer(key, answer));
    } catch (error) {
      const isLate = error instanceof ApiError && /^(not_asked|task_terminal)$/.test(error.code);
      if (!isLate && one.isOpen && !signal.aborted) deps.onFailed(error);
    }
  }

  return {
    take({ n, question, answer, reset, end }) {
      if (answer) forget(answer.key);
      for (const [key, one] of asked) {
        // An agent that begins anew may ask the same question, and the caller is not asked again.
        if (reset) one.isOpen = false;
        if (end) forget(key);
      }
      if (!question) return;
      const content = JSON.stringify(question, sortKeys);
      const before = asked.get(question.key);
      if (before && before.content !== content) forget(question.key);
      const one = asked.get(question.key) ?? begin(content);
      one.isOpen = true;
      asked.set(question.key, one);
      void answerOne(n, question, one);
    },
  };
}

/** A replacer for `JSON.stringify`: two questions are the same whatever the order of their keys. */
function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
