/** A handler, the function that does an agent's work: its arguments, and how its outcome becomes a report. */
import type { Clock } from '../clock.ts';
import type { FreeForm, JsonObject, JsonResult, RequestId, RunningTask, TaskResult } from '../contract.ts';
import { InvalidOptionError, WorkStoppedError } from '../errors.ts';
import type { TraceOptions } from '../transport.ts';
import type { KeptReport } from './outbox.ts';
import { createProgressSender, type ProgressUpdate } from './progress.ts';
import { type AskQuestion, createAsk, type QuestionOptions } from './questions.ts';
import { readText } from './thrown-text.ts';

/** The second argument of a handler, beside the task. */
export type HandlerContext = {
  /**
   * Fires when the handler should stop. Its reason is a `WorkStoppedError` whose `code` says why:
   * `task_cancelled` (cancelled, settled otherwise, or assigned to another agent), `task_timeout` or
   * `agent_stopped`.
   */
  readonly signal: AbortSignal;
  /**
   * Reports the progress, 0 to 100. It never falls; of values in quick succession only the last one is sent.
   * Progress never fails a task: a value that is no number, for example 0 of 0, is not sent, and the first
   * one makes a notice of the kind `failure`.
   */
  progress(percent: number): void;
  /**
   * Adds to the task's output, which its readers follow while the task runs: a text, or an object as data (at
   * most 60,000 bytes as JSON, and 97 levels). Texts are joined to pieces. Await it: it resolves when there
   * is room for more. A handler that writes on while 1 MiB is unsent loses what it writes then, and the
   * output says how much. The agent sends all of it before the result. When the gateway takes no more (the
   * task is over, or has 3.5 MiB), it does nothing; when the handler should stop, it resolves at once.
   */
  write(piece: string | object): Promise<void>;
  /**
   * Asks the task's clients a question, after all that the handler has written, and resolves to the answer.
   * Nothing checks `Answer`, but the gateway takes no answer that violates the schema. The task's time runs
   * on meanwhile. It rejects with the signal's reason when the handler should stop, with `ValidationError` if
   * the gateway refuses the question, and with `InvalidOptionError` if the question is too large for a call.
   * A handler that is started again and asks the same gets the answer at once. Every reader of the task sees
   * the answer: ask for no secrets.
   */
  ask<Answer = unknown>(prompt: string, options?: QuestionOptions): Promise<Answer>;
  /** Reports the first complete reply. It becomes the result's `reply` unless the result has its own. */
  reply(text: string): void;
  /**
   * The trace that the task belongs to (W3C Trace Context): the parent for the spans of your work. Undefined
   * if the task was submitted without a trace and then claimed.
   */
  readonly traceparent?: string | undefined;
  /** What tracing systems add to `traceparent`. */
  readonly tracestate?: string | undefined;
};

/** What a function without a return returns. */
type Nothing = ReturnType<() => void>;

/**
 * What a handler returns: the result, a text that becomes its `output` (for example `'3 files changed'`), or
 * nothing. The agent sends its JSON, as `JSON.stringify` makes it at that moment.
 */
export type HandlerAnswer<Result extends JsonResult = TaskResult> =
  | Result
  | string
  | Nothing
  | undefined
  | null;

/**
 * Does the work on a task. If it throws, the error's text becomes the task's `error_info`. Nothing checks
 * `Payload`: it is the agent's claim.
 */
export type Handler<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult> = (
  task: RunningTask<Payload>,
  context: HandlerContext,
) => Promise<HandlerAnswer<Result>> | HandlerAnswer<Result>;

/** The outcome of a handler: a report without the name of the agent. */
export type Outcome = Omit<KeptReport, 'agent_id'>;

export type HandlerDeps = {
  readonly handler: Handler;
  readonly clock: Clock;
  /** Sends progress. Resolves to false when the gateway no longer wants the task done. */
  readonly sendProgress: (update: ProgressUpdate, signal: AbortSignal) => Promise<boolean>;
  readonly write: HandlerContext['write'];
  readonly askQuestion: AskQuestion;
  /** Called once when `sendProgress` has resolved to false. */
  readonly onUnwanted: () => void;
  /** Called with an error for the handler's first progress that is no number. */
  readonly onWrongProgress: (error: InvalidOptionError) => void;
  /** Called with what the handler threw, or what is wrong with what it returned. */
  readonly onFailed: (error: unknown) => void;
};

const ERROR_CHARS_MAX = 4_000;
const NO_RESULT = 'A handler must return an object, a text, or nothing';

/** Runs the handler on a task. Never rejects: what the handler throws is a part of the outcome. */
export async function runHandler(
  { handler, ...deps }: HandlerDeps,
  task: RunningTask,
  signal: AbortSignal,
  trace: TraceOptions = {},
): Promise<Outcome> {
  const { request_id } = task;
  const sender = createProgressSender(deps);
  const { ask, close } = createAsk(deps.askQuestion, signal);
  try {
    const { progress, reply } = sender;
    const returned = await handler(task, { signal, progress, reply, write: deps.write, ask, ...trace });
    return { request_id, status: 'success', result: readResult(returned, sender.firstReply()) };
  } catch (error) {
    deps.onFailed(error);
    return describeFailure(request_id, error);
  } finally {
    close();
    sender.close();
  }
}

/**
 * Returns the result that a handler's return value stands for: a copy, so that later changes of the value do
 * not reach it. Throws if the value can't be a result, or if nothing of it would be left.
 */
export function readResult(returned: HandlerAnswer<JsonResult>, firstReply: string | undefined): TaskResult {
  const first = firstReply === undefined ? {} : { reply: firstReply };
  if (returned === undefined || returned === null) return first;
  if (returned instanceof Error || returned instanceof Map || returned instanceof Set) {
    throw new InvalidOptionError(`${NO_RESULT}: JSON has no form for an Error, a Map or a Set.`);
  }
  const text = JSON.stringify(returned);
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  if (typeof value === 'string') return { ...first, output: value };
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...first, ...value };
  throw new InvalidOptionError(`${NO_RESULT}.`);
}

/** Returns the outcome of a task that failed; `reason` may be anything that a handler can throw. */
export function describeFailure(request_id: RequestId, reason: unknown): Outcome {
  const text = describeStop(reason) ?? readText(reason);
  // The cut may leave half of a character.
  const error_info = text.slice(0, ERROR_CHARS_MAX).replace(/[\ud800-\udbff]$/, '');
  return { request_id, status: 'failed', error_info };
}

function describeStop(reason: unknown): string | undefined {
  try {
    return reason instanceof WorkStoppedError ? `${reason.message}` : undefined;
  } catch {
    return undefined;
  }
}
