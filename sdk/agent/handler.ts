/**
 * A handler: the function that does an agent's work. What it is given, and how its outcome becomes a report.
 */
import type { Clock } from '../clock.ts';
import type { RequestId, RunningTask, TaskResult } from '../contract.ts';
import { InvalidOptionError, WorkStoppedError } from '../errors.ts';
import type { KeptReport } from './outbox.ts';
import { createProgressSender, type ProgressUpdate } from './progress.ts';

/** What a handler is given besides the task. */
export type HandlerContext = {
  /**
   * Fires when the handler should stop. Its reason is a `WorkStoppedError` whose `code` says why:
   * `task_cancelled` (cancelled, settled otherwise, or assigned to another agent), `task_timeout` or
   * `agent_stopped`.
   */
  readonly signal: AbortSignal;
  /**
   * Reports the progress, 0 to 100. It never falls; of values in quick succession only the last one is sent.
   */
  progress(percent: number): void;
  /** Reports the first complete reply. It becomes the result's `reply` unless the result has its own. */
  reply(text: string): void;
};

/** What a handler may return: the result, a text that becomes its `output`, or nothing. */
export type HandlerAnswer = TaskResult | string | undefined | null;

/** Does the work on a task. What it throws becomes the task's `error_info`. */
export type Handler = (task: RunningTask, context: HandlerContext) => Promise<HandlerAnswer> | HandlerAnswer;

/** The outcome of a handler: a report without the name of the agent. */
export type Outcome = Omit<KeptReport, 'agent_id'>;

export type HandlerDeps = {
  readonly handler: Handler;
  readonly clock: Clock;
  /** Sends progress. Resolves to false when the gateway no longer wants the task done. */
  readonly sendProgress: (update: ProgressUpdate, signal: AbortSignal) => Promise<boolean>;
  /** Called once when `sendProgress` has resolved to false. */
  readonly onUnwanted: () => void;
};

const ERROR_CHARS_MAX = 4_000;

/** Runs the handler on a task. Never rejects: what the handler throws is an outcome. */
export async function runHandler(
  { handler, ...deps }: HandlerDeps,
  task: RunningTask,
  signal: AbortSignal,
): Promise<Outcome> {
  const { request_id } = task;
  const sender = createProgressSender(deps);
  try {
    const { progress, reply } = sender;
    const returned = await handler(task, { signal, progress, reply });
    return { request_id, status: 'success', result: readResult(returned, sender.firstReply()) };
  } catch (error) {
    return describeFailure(request_id, error);
  } finally {
    sender.close();
  }
}

/** Returns the result that a handler's return value stands for. Throws for a value that can't be a result. */
export function readResult(returned: HandlerAnswer, firstReply: string | undefined): TaskResult {
  const first = firstReply === undefined ? {} : { reply: firstReply };
  if (returned === undefined || returned === null) return first;
  if (typeof returned === 'string') return { ...first, output: returned };
  if (typeof returned !== 'object' || Array.isArray(returned)) {
    throw new InvalidOptionError('A handler must return an object, a text, or nothing.');
  }
  JSON.stringify(returned);
  return { ...first, ...returned };
}

/** Returns the outcome of a task that failed, whatever the handler threw. */
export function describeFailure(request_id: RequestId, reason: unknown): Outcome {
  const isPlain = reason instanceof WorkStoppedError || (reason instanceof Error && reason.name === 'Error');
  const text = isPlain ? reason.message : String(reason);
  return { request_id, status: 'failed', error_info: text.slice(0, ERROR_CHARS_MAX) };
}
