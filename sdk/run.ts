/**
 * `runTask`: submits a task and waits until it is settled. The event stream only says when to get the task;
 * what is returned always comes from `getTask`, so a duplicate or missing event changes nothing.
 *
 * Stream open: gets the task when its event comes, after each reconnection or gap, and once a minute in any
 * case. Stream down, or a session of the caller's: polls; the gateway holds each poll until the task is
 * settled. During an outage of the gateway it keeps polling until the task must have timed out.
 *
 * When the signal fires, the run rejects at once. Only the cancellation goes on, if the caller asked for it.
 */
import type { Calls } from './calls.ts';
import { type Clock, type LinkedSignal, linkSignals, readMonotonicMs, untilAborted } from './clock.ts';
import type {
  FailedTask,
  JsonObject,
  JsonResult,
  RequestId,
  SessionId,
  SuccessfulTask,
  Task,
  TaskExplanation,
  TaskSubmission,
} from './contract.ts';
import { AbortError, ApiError, ConnectionError, nameTask, TaskGatewayError } from './errors.ts';
import { createId } from './ids.ts';
import { runCallback } from './log.ts';
import { readEnd } from './responses.ts';
import { isSettled, outcomeOf } from './settled.ts';
import { followSession, type StreamDeps } from './stream/session.ts';
import { createSharedFeeds, type SharedFeeds } from './stream/shared.ts';
import { createStreamWatch, type StreamWatch } from './stream/watch.ts';
import { createTaskError, NoAgentAvailableError } from './task-errors.ts';
import type { CallOptions } from './transport.ts';
import { type Backoff, checkTransient, choosePauseMs } from './waiting.ts';

/** The options of a run. `timeoutMs` and `maxRetries` apply to each of its calls. */
export type RunOptions = CallOptions & {
  /**
   * Identifies this task: a second run with the same key and content finds the task that the first one
   * created.
   */
  readonly idempotencyKey?: string | undefined;
  /**
   * Called with the task as submitted and whenever its status or progress has changed. Polls once a second.
   * If it throws, the error is printed and changes nothing.
   */
  readonly onProgress?: ((task: Task) => void) | undefined;
  /** Whether the signal also cancels the task. Default: the task continues. */
  readonly cancelOnAbort?: boolean | undefined;
};

/** Runs a task until it is settled: `TaskGatewayClient.runTask`. */
export type RunTask = <Payload extends JsonObject, Result extends JsonResult>(
  submission: TaskSubmission<Payload>,
  options?: RunOptions,
) => Promise<SuccessfulTask<Payload, Result>>;

type RunDeps = {
  readonly calls: Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask' | 'explainTask'>;
  readonly feeds: SharedFeeds;
  readonly clock: Clock;
  /** The session of tasks submitted without one. */
  readonly ownSession: string;
  /** How many polls the gateway holds. */
  readonly polls: { held: number };
};

/**
 * How long a submission waits for the stream to open. Events are stored, so none is lost if it opens later.
 */
const OPEN_MAX_MS = 5_000;
/** How long a submission that does not say it waits for an agent; never longer than its `timeout`. */
const QUEUE_SECONDS = 30;
const PROGRESS_EVERY_MS = 1_000;
const CHECK_EVERY_MS = 60_000;
const POLL_SECONDS = 20;
/**
 * In a browser, which has six connections to a server that speaks HTTP/1.1, this many polls are held. The
 * other runs look at their tasks each second.
 */
const HELD_MAX = 3;
const OUTAGE: Backoff = { firstMs: 2_000, maxMs: 10_000 };
/** The longest timeout of a task, in seconds, and the time added to it before an outage becomes an error. */
const TASK_SECONDS_MAX = 604_800;
const GRACE_MS = 60_000;
/** How long the cancellation of an aborted run may take, and each of its attempts. */
const CANCEL_MAX_MS = 10_000;
const CANCEL_TIMEOUT_MS = 4_000;
/** How long the error of a task without an agent waits for its explanation. */
const EXPLAIN_TIMEOUT_MS = 2_000;

/** Creates the function that runs tasks; all of its runs share one stream. */
export function createRunTask(calls: RunDeps['calls'], streams: StreamDeps): RunTask {
  const feeds = createSharedFeeds((session, cursor, signal) =>
    followSession(streams, session, { cursor, signal }),
  );
  const deps: RunDeps = {
    calls,
    feeds,
    clock: streams.clock,
    ownSession: `sdk-${createId()}`,
    polls: { held: 0 },
  };
  return (submission, options) => runTask(deps, submission, options);
}

/** A run's task, as far as the run knows it. */
type Submitted = {
  /** The submission, from the moment on that it may have been sent. */
  task?: Promise<Task>;
  /** How it can be found: by its id, or by the key and the session of its submission. */
  readonly names: { idempotencyKey: string; cli_session_id: SessionId; request_id?: RequestId };
};

/**
 * Runs a task until it is settled. Throws a `TaskFailedError` if it failed, and what the calls throw; each
 * error names the task, or the key and the session of its submission.
 */
async function runTask<Payload extends JsonObject, Result extends JsonResult>(
  deps: RunDeps,
  submission: TaskSubmission<Payload>,
  options: RunOptions = {},
): Promise<SuccessfulTask<Payload, Result>> {
  const { signal, cancelOnAbort, idempotencyKey = createId(), headers } = options;
  const cli_session_id = submission.cli_session_id || deps.ownSession;
  // A session of the caller's may have a long history, all of which a stream would send first.
  const hasStream = cli_session_id === deps.ownSession;
  const watch = createStreamWatch(deps.clock, signal, hasStream);
  const stopListening = hasStream ? deps.feeds.listen(cli_session_id, watch.onItem) : undefined;
  const submitted: Submitted = { names: { idempotencyKey, cli_session_id } };
  const ending = linkSignals(cancelOnAbort ? undefined : signal);
  try {
    return await untilAborted(signal, () =>
      submitAndFollow<Payload, Result>(
        deps,
        { ...submission, cli_session_id },
        { ...options, idempotencyKey, submitSignal: ending.signal },
        { watch, submitted },
      ),
    );
  } catch (error) {
    if (!cancelOnAbort || !(error instanceof AbortError)) throw nameTask(error, submitted.names);
    const cancelled = cancelSubmitted(deps, submitted, { headers, ending });
    void cancelled.then(() => nameTask(error, submitted.names));
    throw nameTask(error, { ...submitted.names, cancelled });
  } finally {
    ending.release();
    stopListening?.();
  }
}

/** Submits the task when its stream is open, and follows it. Sends nothing more once the signal has fired. */
async function submitAndFollow<Payload extends JsonObject, Result extends JsonResult>(
  deps: RunDeps,
  submission: TaskSubmission<Payload>,
  {
    onProgress,
    cancelOnAbort: _,
    idempotencyKey,
    submitSignal,
    ...call
  }: RunOptions & { readonly submitSignal: AbortSignal },
  { watch, submitted }: { readonly watch: StreamWatch; readonly submitted: Submitted },
): Promise<SuccessfulTask<Payload, Result>> {
  await watch.waitForOpen(OPEN_MAX_MS);
  requireUnaborted(call.signal);
  const { timeout = QUEUE_SECONDS } = submission;
  const queueSeconds = timeout >= 0 && timeout < QUEUE_SECONDS ? timeout : QUEUE_SECONDS;
  const submitting = deps.calls.submitTask<Payload, Result>(
    { ...submission, queue_timeout: submission.queue_timeout ?? queueSeconds },
    { ...call, idempotencyKey, signal: submitSignal },
  );
  submitted.task = submitting as Promise<unknown> as Promise<Task>;
  const task = await submitting;
  submitted.names.request_id = task.request_id;
  watch.watchTask(task.request_id);
  return await followTask(deps, task, watch, { onProgress, call });
}

function requireUnaborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new AbortError(signal.reason);
}

/** Gets the task whenever the watch says so, until it is settled. */
async function followTask<Payload extends JsonObject, Result extends JsonResult>(
  { calls, clock, polls }: RunDeps,
  submitted: Task<Payload, Result>,
  watch: StreamWatch,
  { onProgress, call }: Pick<RunOptions, 'onProgress'> & { readonly call: CallOptions },
): Promise<SuccessfulTask<Payload, Result>> {
  const { signal } = call;
  const giveUpMs = readMonotonicMs(clock) + Math.min(submitted.timeout, TASK_SECONDS_MAX) * 1_000 + GRACE_MS;
  let task = submitted;
  let failures = 0;
  /** Whether an event had said before the task was read that it has ended. */
  let hasEnded = false;
  const notify = (): void => runCallback('onProgress', () => onProgress?.(task as unknown as Task));
  requireUnaborted(signal);
  notify();
  for (;;) {
    // A state that only a later gateway knows may be one of either kind.
    const isOpen = /^(pending|running)$/.test(task.status);
    if (!isOpen && (hasEnded || readMonotonicMs(clock) > giveUpMs)) task = readEnd(task);
    if (isSettled(task)) return await requireSuccess(calls, task, call);
    await watch.waitForCheck(onProgress ? PROGRESS_EVERY_MS : CHECK_EVERY_MS);
    requireUnaborted(signal);
    const mayBeHeld = !watch.isOpen() && polls.held < (globalThis.location ? HELD_MAX : Infinity);
    const seconds = onProgress ? PROGRESS_EVERY_MS / 1_000 : POLL_SECONDS;
    const wait = mayBeHeld ? seconds : undefined;
    polls.held += Number(mayBeHeld);
    hasEnded = watch.hasEnded();
    try {
      const before = task;
      task = await calls.getTask<Payload, Result>(task.request_id, { ...call, wait });
      failures = 0;
      if (task.status !== before.status || task.progress !== before.progress) notify();
    } catch (error) {
      if (!isOutage(error) || readMonotonicMs(clock) > giveUpMs) throw error;
      const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
      await clock.sleep(choosePauseMs(clock, OUTAGE, failures, askedMs), signal);
      failures += 1;
      watch.requestCheck();
    } finally {
      polls.held -= Number(mayBeHeld);
    }
  }
}

async function requireSuccess<Payload, Result>(
  calls: RunDeps['calls'],
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
  calls: RunDeps['calls'],
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

function isOutage(error: unknown): error is TaskGatewayError {
  return checkTransient(error) || error instanceof ConnectionError;
}

/**
 * Cancels the task of an aborted run, if there is one: a submission under way is waited for. Resolves within
 * `CANCEL_MAX_MS` to whether the task is sure not to go on.
 */
async function cancelSubmitted(
  { calls, clock }: RunDeps,
  submitted: Submitted,
  { headers, ending }: Pick<CallOptions, 'headers'> & { readonly ending: LinkedSignal },
): Promise<boolean> {
  const { signal } = ending;
  void clock.sleep(CANCEL_MAX_MS, signal).then(() => ending.abort());
  const { names } = submitted;
  try {
    const { request_id } = (await submitted.task) ?? {};
    const timeoutMs = CANCEL_TIMEOUT_MS;
    if (request_id) names.request_id = request_id;
    if (request_id) await calls.cancelTask(request_id, { headers, signal, timeoutMs });
    return true;
  } catch (error) {
    if (names.request_id) return error instanceof ApiError && /^task_/.test(error.code);
    return !isOutage(error) && !(error instanceof AbortError);
  } finally {
    ending.abort();
  }
}
