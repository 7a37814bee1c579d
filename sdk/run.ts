/**
 * `runTask`: submits a task and waits until it is settled. A stream only says when to get the task; what is
 * returned always comes from `getTask`, so a duplicate or missing event changes nothing.
 *
 * Runs that show how their task goes each follow the stream of their own task. All others share the stream of
 * the client's session. While its stream is open, a run gets the task when an event for it comes, after each
 * reconnection or gap, and once a minute in any case. A run polls if its stream is down, if the gateway has
 * no such stream, or if the session or the key is the caller's; the gateway holds each poll until the task is
 * settled. During an outage of the gateway a run keeps polling until the task must have timed out.
 *
 * When the signal fires, the run rejects at once. Only the cancellation goes on, if the caller asked for it.
 */
import { type LinkedSignal, linkSignals, untilAborted } from './clock.ts';
import type {
  JsonObject,
  JsonResult,
  RequestId,
  SessionId,
  SuccessfulTask,
  Task,
  TaskSubmission,
} from './contract.ts';
import { AbortError, ApiError, nameTask, requireNumber } from './errors.ts';
import {
  type FollowDeps,
  followTask,
  isOutage,
  type LoadOutput,
  type RunCallbacks,
  requireUnaborted,
} from './followed-task.ts';
import { createId } from './ids.ts';
import { followSession, type StreamDeps } from './stream/session.ts';
import { createSharedFeeds, type SharedFeeds } from './stream/shared.ts';
import { createStreamWatch, type StreamWatch } from './stream/watch.ts';
import type { CallOptions } from './transport.ts';

/** The options of a run. `timeoutMs` and `maxRetries` apply to each of its calls. */
export type RunOptions = CallOptions &
  RunCallbacks & {
    /**
     * Identifies this task: a second run with the same key and content, even of another process, finds the
     * task that the first one created. A task submitted with a key and no `cli_session_id` has no session.
     */
    readonly idempotencyKey?: string | undefined;
    /** Whether the signal also cancels the task. Default: the task continues. */
    readonly cancelOnAbort?: boolean | undefined;
  };

/** The options of `followTask`. `timeoutMs` and `maxRetries` apply to each of its calls. */
export type FollowOptions = CallOptions &
  RunCallbacks & {
    /** `onOutput` gets the pieces behind this number; 0, the default, is the beginning. */
    readonly after?: number | undefined;
  };

/** Runs a task, and follows an existing one: the functions behind `TaskGatewayClient`. */
export type Runs = {
  runTask<Payload extends JsonObject, Result extends JsonResult>(
    submission: TaskSubmission<Payload>,
    options?: RunOptions,
  ): Promise<SuccessfulTask<Payload, Result>>;
  followTask<Payload extends JsonObject, Result extends JsonResult>(
    request_id: RequestId,
    options?: FollowOptions,
  ): Promise<SuccessfulTask<Payload, Result>>;
};

type RunDeps = FollowDeps & {
  readonly feeds: SharedFeeds;
  /** The session of tasks that are submitted without a session and without a key. */
  readonly ownSession: string;
};

/**
 * How long a submission waits for the stream to open. No event is lost if it opens later, because the gateway
 * stores events.
 */
const OPEN_MAX_MS = 5_000;
/** How long a task waits for an agent if its submission does not say; never longer than its `timeout`. */
const QUEUE_SECONDS = 30;
/** How long the cancellation of an aborted run may take, and how long each of its attempts. */
const CANCEL_MAX_MS = 10_000;
const CANCEL_TIMEOUT_MS = 4_000;

/** Creates the functions for runs. All runs share one stream. */
export function createRuns(calls: RunDeps['calls'], streams: StreamDeps, loadOutput: LoadOutput): Runs {
  const feeds = createSharedFeeds((session, cursor, signal) =>
    followSession(streams, session, { cursor, signal }),
  );
  const deps: RunDeps = {
    calls,
    feeds,
    streams,
    loadOutput,
    ownSession: `sdk-${createId()}`,
    calling: { held: 0 },
  };
  return {
    runTask: (submission, options) => runTask(deps, submission, options),
    followTask: (request_id, options) => followStored(deps, request_id, options),
  };
}

/** A run's task, as far as the run knows it. */
type Submitted = {
  /** The submission, once it may have been sent. */
  task?: Promise<Task>;
  /** What finds the task again: its id, or the key and the session of its submission. */
  readonly names: { idempotencyKey: string; cli_session_id: SessionId; request_id?: RequestId };
};

/**
 * Runs a task until it is settled. Throws a `TaskFailedError` if it failed, and what the calls throw. Each
 * error names the task, or the key and the session of its submission.
 */
async function runTask<Payload extends JsonObject, Result extends JsonResult>(
  deps: RunDeps,
  submission: TaskSubmission<Payload>,
  options: RunOptions = {},
): Promise<SuccessfulTask<Payload, Result>> {
  const { signal, cancelOnAbort, idempotencyKey = createId(), headers } = options;
  // A key of the caller's lets another process find the task, and that process has another session.
  const ownSession = options.idempotencyKey === undefined ? deps.ownSession : '';
  const cli_session_id = submission.cli_session_id || ownSession;
  const follows = Boolean(options.onProgress ?? options.onOutput ?? options.onQuestion);
  // A session of the caller's may have a long history, and a stream would send all of it first.
  const hasStream = cli_session_id === deps.ownSession && !follows;
  const watch = createStreamWatch(deps.streams.clock, signal, hasStream || follows);
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

/** Follows an existing task until it is settled. Throws as `runTask` does; it never cancels the task. */
async function followStored<Payload extends JsonObject, Result extends JsonResult>(
  deps: RunDeps,
  request_id: RequestId,
  { onProgress, onOutput, onQuestion, after: value, ...call }: FollowOptions = {},
): Promise<SuccessfulTask<Payload, Result>> {
  const after = requireNumber({ name: 'after', value }, 0, 0);
  const { signal } = call;
  const callbacks = { onProgress, onOutput, onQuestion };
  const follows = Boolean(onProgress ?? onOutput ?? onQuestion);
  const watch = createStreamWatch(deps.streams.clock, signal, follows);
  try {
    return await untilAborted(signal, async () => {
      const part = follows ? await deps.loadOutput(signal) : undefined;
      const task = await deps.calls.getTask<Payload, Result>(request_id, call);
      watch.watchTask(request_id);
      return await followTask(deps, task, watch, { ...callbacks, after, call, part });
    });
  } catch (error) {
    throw nameTask(error, { request_id });
  }
}

/** Submits the task once its stream is open, and follows it. When the signal fires, sends nothing more. */
async function submitAndFollow<Payload extends JsonObject, Result extends JsonResult>(
  deps: RunDeps,
  submission: TaskSubmission<Payload>,
  {
    onProgress,
    onOutput,
    onQuestion,
    cancelOnAbort: _,
    idempotencyKey,
    submitSignal,
    ...call
  }: RunOptions & { readonly submitSignal: AbortSignal },
  { watch, submitted }: { readonly watch: StreamWatch; readonly submitted: Submitted },
): Promise<SuccessfulTask<Payload, Result>> {
  // The stream of the task itself opens once the task exists.
  const part = (onProgress ?? onOutput ?? onQuestion) ? await deps.loadOutput(call.signal) : undefined;
  if (!part) await watch.waitForOpen(OPEN_MAX_MS);
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
  return await followTask(deps, task, watch, { onProgress, onOutput, onQuestion, call, part });
}

/**
 * Cancels the task of an aborted run, if there is one. It first waits for a submission that is under way.
 * Resolves within `CANCEL_MAX_MS`, to whether the task certainly does not go on.
 */
async function cancelSubmitted(
  { calls, streams: { clock } }: RunDeps,
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
