/**
 * The questions of a run's task, answered by its caller: each is asked once, however often it is read, after
 * a reconnection or of an agent that began anew. One with an answer is not asked.
 */
import { type Clock, linkSignals } from '../clock.ts';
import type { OutputPiece, Question } from '../contract.ts';
import { ApiError, ConnectionError } from '../errors.ts';
import { checkTransient, choosePauseMs } from '../waiting.ts';

/**
 * Returns the answer to a question, or undefined to leave it to others. `signal` fires when none is needed
 * any more: another client has answered, or the run has ended.
 */
export type OnQuestion = (question: Question, options: { readonly signal: AbortSignal }) => unknown;

export type RunQuestionsDeps = {
  readonly clock: Clock;
  readonly onQuestion: OnQuestion;
  /** Reads the stored pieces behind a number. */
  readonly readBehind: (n: number) => AsyncIterable<OutputPiece>;
  readonly sendAnswer: (key: string, answer: unknown) => Promise<unknown>;
  /** Called with what the callback threw, or why its answer is refused. */
  readonly onFailed: (error: unknown) => void;
  /** Fires when the run ends. */
  readonly signal: AbortSignal;
};

type Asked = {
  readonly content: string;
  /** Whether the agent waits: a piece behind the question may withdraw or answer it. */
  isOpen: boolean;
  readonly stop: AbortController['abort'];
  readonly signal: AbortSignal;
  /** The callback's answer, once it was called. */
  answer?: Promise<unknown>;
};

const BACKOFF = { firstMs: 500, maxMs: 10_000 };

/** Creates what takes the pieces of a run's output. */
export function createRunQuestions(deps: RunQuestionsDeps): { take(piece: OutputPiece): void } {
  const { clock, onQuestion, signal } = deps;
  const asked = new Map<string, Asked>();
  /** The checks of those before: questions are asked in their order. */
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

  /** Repeats a call until it succeeds, or fails in a way that another attempt does not mend. */
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

  /** Whether a stored piece behind a question says that it waits for no answer. */
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
        // An agent that begins anew may ask the same: then the caller is not asked again.
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

/** For `JSON.stringify`: the order of keys makes no difference to what is asked. */
function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
