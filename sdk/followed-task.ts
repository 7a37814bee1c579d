/**
 * Follows the task of a run until it is settled. The stream of the session, or of the task itself, says when
 * to get the task; without a stream the run polls.
 */
import type { Calls } from './calls.ts';
import { linkSignals, readMonotonicMs } from './clock.ts';
import type {
  FailedTask,
  JsonObject,
  JsonResult,
  OutputPiece,
  OutputStatus,
  RequestId,
  SuccessfulTask,
  Task,
  TaskExplanation,
} from './contract.ts';
import { AbortError, ApiError, ConnectionError, TaskGatewayError } from './errors.ts';
import { runCallback } from './log.ts';
import { readEnd } from './responses.ts';
import { isSettled, outcomeOf } from './settled.ts';
import type { createRunOutput, RunOutput, RunOutputOptions } from './stream/output.ts';
import type { OnQuestion } from './stream/questions.ts';
import type { StreamDeps } from './stream/session.ts';
import type { StreamWatch } from './stream/watch.ts';
import { createTaskError, NoAgentAvailableError } from './task-errors.ts';
import type { CallOptions } from './transport.ts';
import { type Backoff, checkTransient, choosePauseMs } from './waiting.ts';

/** The functions that a run calls while it follows its task. */
export type RunCallbacks = {
  /**
   * Called with the task as submitted and whenever its status or progress has changed. If it throws, the
   * error is printed and changes nothing.
   */
  readonly onProgress?: ((task: Task) => void) | undefined;
  /**
   * Called once with each piece of the task's output, in order; the last one is the output's end. All these
   * calls come before the run ends. If it throws, the error is printed and changes nothing.
   */
  readonly onOutput?: ((piece: OutputPiece) => void) | undefined;
  /**
   * Called with each unanswered question of the task's agent: once, even over reconnections and restarts of
   * the agent. Returns the answer, or undefined to leave it to others. If it throws, or the answer violates
   * the question's schema (`ValidationError`), the run ends with that error; the task goes on.
   */
  readonly onQuestion?: OnQuestion | undefined;
};

export type FollowDeps = {
  readonly calls: Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask' | 'explainTask' | 'answerTask'>;
  readonly streams: StreamDeps;
  readonly loadOutput: LoadOutput;
  /** How many polls and task streams of this client's runs the gateway holds now. */
  readonly calling: { held: number };
};

type OutputPart = { readonly createRunOutput: typeof createRunOutput };
/** Loads the part that reads outputs. */
export type LoadOutput = (signal: AbortSignal | undefined) => Promise<OutputPart>;

/** How often a run gets its task when it has progress to show and no stream. */
const PROGRESS_EVERY_MS = 1_000;
const CHECK_EVERY_MS = 60_000;
const POLL_SECONDS = 20;
/**
 * A browser opens six connections to a server that speaks HTTP/1.1. So only this many calls are held there;
 * the other runs get their tasks each second.
 */
const HELD_MAX = 3;
const OUTAGE: Backoff = { firstMs: 2_000, maxMs: 10_000 };
/**
 * The longest timeout of a task, in seconds. A run keeps trying for the task's timeout and this time; then an
 * outage becomes an error.
 */
const TASK_SECONDS_MAX = 604_800;
const GRACE_MS = 60_000;
/** How long a `NoAgentAvailableError` waits for its explanation. */
const EXPLAIN_TIMEOUT_MS = 2_000;

export function requireUnaborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new AbortError(signal.reason);
}

/** Whether the run may make one more call that the gateway holds. */
function mayHold({ calling }: FollowDeps): boolean {
  return calling.held < (globalThis.location ? HELD_MAX : Infinity);
}

/** Gets the task whenever the watch says so, until it is settled. Throws its error if it failed. */
export async function followTask<Payload extends JsonObject, Result extends JsonResult>(
  deps: FollowDeps,
  submitted: Task<Payload, Result>,
  watch: StreamWatch,
  {
    call,
    part,
    after = 0,
    ...callbacks
  }: RunCallbacks & {
    readonly after?: number | undefined;
    readonly call: CallOptions;
    /** Reads the output, in a run that shows how its task goes. */
    readonly part: OutputPart | undefined;
  },
): Promise<SuccessfulTask<Payload, Result>> {
  const { calls, calling } = deps;
  const { clock } = deps.streams;
  const { signal } = call;
  const giveUpMs = readMonotonicMs(clock) + Math.min(submitted.timeout, TASK_SECONDS_MAX) * 1_000 + GRACE_MS;
  let task = submitted;
  let failures = 0;
  /** Whether an event had said that the task has ended, before the run got the task. */
  let hasEnded = false;
  /** The task's status, if its stream has sent a newer one than the run got. */
  let status: OutputStatus | undefined;
  /** The error of a question. It ends the run, though the task goes on. */
  let failure: { readonly error: unknown } | undefined;
  const notify = (): void => runCallback('onProgress', () => callbacks.onProgress?.(task as unknown as Task));
  /** Takes the task as the run got it, with what its stream has said since. */
  function take(read: Task<Payload, Result>): void {
    const before = task;
    task = status?.status === read.status ? { ...read, progress: status.progress } : read;
    if (task.status !== before.status || task.progress !== before.progress) notify();
  }
  requireUnaborted(signal);
  notify();
  const output = openOutput(deps, part, task.request_id, {
    watch,
    after,
    onOutput: callbacks.onOutput,
    onQuestion: callbacks.onQuestion,
    answerTask: calls.answerTask,
    call,
    onFailed(error) {
      failure = { error };
      watch.requestCheck();
    },
    onStatus(next) {
      status = next;
      if (next.status === task.status) take(task);
      else watch.requestCheck();
    },
  });
  try {
    if (output) await watch.waitForOpen(PROGRESS_EVERY_MS);
    for (;;) {
      // A later gateway may have a status that is unknown here: it may be open or terminal.
      const isOpen = /^(pending|running)$/.test(task.status);
      if (!isOpen && (hasEnded || readMonotonicMs(clock) > giveUpMs)) task = readEnd(task);
      if (isSettled(task)) {
        await output?.readRest(true);
        return await requireSuccess(calls, task, call);
      }
      await watch.waitForCheck(output && !watch.isOpen() ? PROGRESS_EVERY_MS : CHECK_EVERY_MS);
      requireUnaborted(signal);
      if (failure) throw failure.error;
      const mayBeHeld = !watch.isOpen() && mayHold(deps);
      const seconds = output ? PROGRESS_EVERY_MS / 1_000 : POLL_SECONDS;
      const wait = mayBeHeld ? seconds : undefined;
      calling.held += Number(mayBeHeld);
      hasEnded = watch.hasEnded();
      status = undefined;
      try {
        take(await calls.getTask<Payload, Result>(task.request_id, { ...call, wait }));
        failures = 0;
        if (!isSettled(task) && !watch.isOpen()) await output?.readRest(false);
      } catch (error) {
        if (!isOutage(error) || readMonotonicMs(clock) > giveUpMs) throw error;
        const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
        await clock.sleep(choosePauseMs(clock, OUTAGE, failures, askedMs), signal);
        failures += 1;
        watch.requestCheck();
      } finally {
        calling.held -= Number(mayBeHeld);
      }
    }
  } finally {
    output?.close();
  }
}

/** Opens the output of a run that shows how its task goes. */
function openOutput(
  deps: FollowDeps,
  part: OutputPart | undefined,
  request_id: RequestId,
  options: Omit<RunOutputOptions, 'follows' | 'signal'>,
): (RunOutput & { close(): void }) | undefined {
  if (!part) return undefined;
  const { calling, streams } = deps;
  const { signal, abort } = linkSignals(options.call.signal);
  const follows = mayHold(deps);
  calling.held += Number(follows);
  return {
    ...part.createRunOutput(streams, request_id, { ...options, follows, signal }),
    close() {
      abort();
      calling.held -= Number(follows);
    },
  };
}

async function requireSuccess<Payload, Result>(
  calls: FollowDeps['calls'],
  task: SuccessfulTask<Payload, Result> | FailedTask<Payload>,
  call: CallOptions,
): Promise<SuccessfulTask<Payload, Result>> {
  if (task.status === 'success') return task;
  const failed = task as unknown as FailedTask;
  if (outcomeOf(failed) !== 'no_agent') throw createTaskError(failed);
  throw new NoAgentAvailableError(failed, await explainQuietly(calls, task.request_id, call));
}

/** Explains a task that found no agent; undefined if that fails or takes too long. */
async function explainQuietly(
  calls: FollowDeps['calls'],
  request_id: RequestId,
  { signal, headers }: CallOptions,
): Promise<TaskExplanation | undefined> {
  try {
    return await calls.explainTask(request_id, {
      signal,
      headers,
      timeoutMs: EXPLAIN_TIMEOUT_MS,
      maxRetries: 0,
    });
  } catch (error) {
    if (error instanceof TaskGatewayError) return undefined;
    throw error;
  }
}

/** Whether a run keeps trying after this error. */
export function isOutage(error: unknown): error is TaskGatewayError {
  return checkTransient(error) || error instanceof ConnectionError;
}
