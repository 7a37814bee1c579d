/**
 * Asks clients for a handler. It sends the question after all that the handler has written, then claims the
 * answer until one comes. The answer stays with the question's key: a handler that is started again and asks
 * the same gets it at once, and nobody is asked twice.
 */
import { createHash } from 'node:crypto';
import type { Calls } from '../calls.ts';
import { type Clock, linkSignals, readMonotonicMs, untilAborted } from '../clock.ts';
import type { AnswerSchema, Question } from '../contract.ts';
import { AbortError, ApiError, InvalidOptionError } from '../errors.ts';
import { choosePauseMs, HELD_EVERY_MS } from '../waiting.ts';
import { isRefusal, type OutputKey, type OutputWriter, type OutputWriterDeps } from './output.ts';
import { requireSendable } from './unsent.ts';

/** The options of a question. */
export type QuestionOptions = {
  /** What an answer must be: an object of at most 20 fields. Absent: any JSON value. */
  readonly schema?: AnswerSchema | undefined;
  /**
   * Names the question within the task, 1 to 256 characters. Default: made of prompt and schema, and of how
   * often the handler has asked the same.
   */
  readonly key?: string | undefined;
};

/** Asks, and resolves to the answer; rejects with the signal's reason when it fires. */
export type AskQuestion = (question: Question, signal: AbortSignal) => Promise<unknown>;

/** How long the gateway may hold a claim while it has no answer. */
const CLAIM_SECONDS = 20;
const BACKOFF = { firstMs: 500, maxMs: 10_000 };

/** Creates the `ask` of one handler; `close` ends its questions. */
export function createAsk(askQuestion: AskQuestion, signal: AbortSignal) {
  const linked = linkSignals(signal);
  const counts = new Map<string, number>();

  function nameQuestion(content: string): string {
    const count = (counts.get(content) ?? 0) + 1;
    counts.set(content, count);
    return `${createHash('sha256').update(content).digest('hex').slice(0, 16)}-${count}`;
  }

  return {
    close: linked.abort,
    ask<Answer>(prompt: string, { schema, key }: QuestionOptions = {}): Promise<Answer> {
      const asked = (async () => {
        const content = writeContent(prompt, schema);
        const question = { ...JSON.parse(content), key: key ?? nameQuestion(content) } as Question;
        requireSendable({ question }, 'A question, with its schema,');
        return (await askQuestion(question, linked.signal)) as Answer;
      })();
      // If someone awaits the answer, the error reaches them; otherwise it must not end the process.
      asked.catch(() => undefined);
      return asked;
    },
  };
}

/** Returns prompt and schema as JSON, so that later changes of the schema do not matter. */
function writeContent(prompt: string, schema: AnswerSchema | undefined): string {
  if (typeof prompt !== 'string' || prompt === '') {
    throw new InvalidOptionError('The prompt of a question must be a text that is not empty.');
  }
  try {
    return JSON.stringify({ prompt, schema });
  } catch (cause) {
    throw new InvalidOptionError('The schema of a question can’t be written as JSON.', { cause });
  }
}

/** Creates the function that asks the gateway one task's questions. */
export function createAskQuestion(
  deps: Omit<OutputWriterDeps, 'calls'> & {
    readonly calls: Pick<Calls, 'claimAnswer'>;
    readonly clock: Clock;
  },
  { request_id, agent_id, trace }: OutputKey,
  writer: Pick<OutputWriter, 'ask'>,
): AskQuestion {
  const { calls, clock } = deps;
  return async (question, signal) => {
    await untilAborted(signal, () => writer.ask(question)).catch((error: unknown) => {
      throw error instanceof AbortError ? (signal.reason ?? error) : error;
    });
    const claim = { agent_id, request_id, key: question.key, wait: CLAIM_SECONDS };
    for (let failures = 0; ; ) {
      signal.throwIfAborted();
      const startMs = readMonotonicMs(clock);
      try {
        const claimed = await calls.claimAnswer(claim, { signal, maxRetries: 0, ...trace });
        if (claimed) return claimed.answer;
        failures = 0;
        // The gateway should hold a claim. If it does not, it is asked no more often than this.
        await clock.sleep(startMs + HELD_EVERY_MS - readMonotonicMs(clock), signal);
      } catch (error) {
        if (error instanceof AbortError) throw signal.reason ?? error;
        if (isOver(error) || deps.isUnwanted(error)) {
          deps.onUnwanted();
          throw signal.reason ?? error;
        }
        if (failures === 0) deps.onFailure(error);
        const isUnknown = error instanceof ApiError && error.code === 'agent_not_found';
        if (isUnknown) await deps.registerAgain(signal);
        else if (isRefusal(error)) throw error;
        const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
        await clock.sleep(choosePauseMs(clock, BACKOFF, failures, askedMs), signal);
        failures += 1;
      }
    }
  };
}

/** Whether the task is over, or its questions were withdrawn because another process works on it. */
function isOver(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'task_terminal' || error.code === 'not_asked');
}
