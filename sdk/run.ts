/**
 * `runTask`: submits a task and waits until it is settled. The event stream only says when to get the task;
 * what is returned always comes from `getTask`, so a duplicate or missing event changes nothing.
 *
 * Stream open: gets the task when its event comes, after each reconnection or gap, and once a minute in any
 * case. Stream down: polls; the gateway holds each poll until the task is settled. During an outage of the
 * gateway it keeps polling until the task must have timed out.
 */
import type { Calls } from './calls.ts';
import { type Clock, linkSignals, readMonotonicMs } from './clock.ts';
import type {
  FailedTask,
  JsonObject,
  JsonResult,
  SuccessfulTask,
  Task,
  TaskExplanation,
  TaskSubmission,
} from './contract.ts';
import { AbortError, ApiError, ConnectionError, createTaskError, TaskGatewayError } from './errors.ts';
import { createId } from './ids.ts';
import { runCallback } from './log.ts';
import { isSettled, NO_AGENT_TEXT } from './settled.ts';
import { type FeedDeps, followFeed, IDLE_MS } from './stream/follow.ts';
import type { OpenSession } from './stream/open.ts';
import { createSharedFeeds, type FeedListener, type SharedFeeds } from './stream/shared.ts';
import type { CallOptions } from './transport.ts';
import { type Backoff, checkTransient, choosePauseMs, HELD_EVERY_MS } from './waiting.ts';

/** The options of a run. `timeoutMs` and `maxRetries` apply to each of its calls. */
export type RunOptions = CallOptions & {
  /**
   * Identifies this task: a second run with the same key and content finds the task that the first one
   * created.
   */
  readonly idempotencyKey?: string | undefined;
  /**
   * Called with the task as submitted and whenever its status or progress has changed. Polls once a second.
   * What it throws is printed and changes nothing.
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
const OUTAGE: Backoff = { firstMs: 2_000, maxMs: 10_000 };
/**
 * So many checks that the stream asks for are made at once. A stream that asks for more of one task is not a
 * gateway's, and gets one each second.
 */
const QUICK_CHECKS = 5;
/** The longest timeout of a task, in seconds, and the time added to it before an outage becomes an error. */
const TASK_SECONDS_MAX = 604_800;
const GRACE_MS = 60_000;
const CANCEL_TIMEOUT_MS = 5_000;
/** How long the error of a task without an agent waits for its explanation. */
const EXPLAIN_TIMEOUT_MS = 2_000;

/** Creates the function that runs tasks; all of its runs share one stream for each session. */
export function createRunTask(
  deps: Pick<RunDeps, 'calls' | 'clock'> &
    Pick<FeedDeps, 'log' | 'maxResponseBytes'> & { readonly openSession: OpenSession },
): RunTask {
  const { calls, openSession, clock, log, maxResponseBytes } = deps;
  const feeds = createSharedFeeds((session, cursor, signal) =>
    followFeed({
      openStream: (lastEventId, own) => openSession(session, lastEventId, { signal: own }),
      ...{ clock, log, cursor, idleMs: IDLE_MS, maxResponseBytes, signal },
    }),
  );
  const ownSession = `sdk-${createId()}`;
  return (submission, options) => runTask({ calls, feeds, clock, ownSession }, submission, options);
}

/**
 * Runs a task until it is settled. Throws a `TaskFailedError` if it failed, and what the calls throw; what it
 * throws after the submission has the task's `request_id`.
 */
async function runTask<Payload extends JsonObject, Result extends JsonResult>(
  deps: RunDeps,
  submission: TaskSubmission<Payload>,
  options: RunOptions = {},
): Promise<SuccessfulTask<Payload, Result>> {
  const { onProgress, cancelOnAbort, idempotencyKey, ...call } = options;
  const { signal } = call;
  if (signal?.aborted) throw new AbortError(signal.reason);
  const session = submission.cli_session_id || deps.ownSession;
  const watch = createStreamWatch(deps.clock, signal);
  const stopListening = deps.feeds.listen(session, watch.onItem);
  try {
    await watch.waitForOpen(OPEN_MAX_MS);
    if (signal?.aborted) throw new AbortError(signal.reason);
    const { timeout = QUEUE_SECONDS } = submission;
    const queueSeconds = timeout >= 0 && timeout < QUEUE_SECONDS ? timeout : QUEUE_SECONDS;
    const queue_timeout = submission.queue_timeout ?? queueSeconds;
    const submitted = await deps.calls.submitTask<Payload, Result>(
      { ...submission, queue_timeout, cli_session_id: session },
      { ...call, idempotencyKey, signal: cancelOnAbort ? undefined : signal },
    );
    const { request_id } = submitted;
    watch.watchTask(request_id);
    return await followTask(deps, submitted, watch, { onProgress, cancelOnAbort, call }).catch(
      (error: unknown) => {
        throw error instanceof TaskGatewayError ? Object.assign(error, { request_id }) : error;
      },
    );
  } finally {
    stopListening();
  }
}

/** Gets the task whenever the watch says so, until it is settled. */
async function followTask<Payload extends JsonObject, Result extends JsonResult>(
  deps: RunDeps,
  submitted: Task<Payload, Result>,
  watch: StreamWatch,
  {
    onProgress,
    cancelOnAbort,
    call,
  }: Pick<RunOptions, 'onProgress' | 'cancelOnAbort'> & { readonly call: CallOptions },
): Promise<SuccessfulTask<Payload, Result>> {
  const { calls, clock } = deps;
  const { signal } = call;
  const giveUpMs = readMonotonicMs(clock) + Math.min(submitted.timeout, TASK_SECONDS_MAX) * 1_000 + GRACE_MS;
  let task = submitted;
  let failures = 0;
  const notify = (): void => runCallback('onProgress', () => onProgress?.(task as unknown as Task));
  notify();
  for (;;) {
    if (isSettled(task)) return await requireSuccess(calls, task, call);
    await watch.waitForCheck(onProgress ? PROGRESS_EVERY_MS : CHECK_EVERY_MS);
    if (signal?.aborted) {
      if (cancelOnAbort) await cancelQuietly(calls, task.request_id, call);
      throw new AbortError(signal.reason);
    }
    const wait = watch.isOpen() ? undefined : onProgress ? PROGRESS_EVERY_MS / 1_000 : POLL_SECONDS;
    try {
      const before = task;
      task = await calls.getTask<Payload, Result>(task.request_id, { ...call, wait });
      failures = 0;
      if (task.status !== before.status || task.progress !== before.progress) notify();
    } catch (error) {
      if (error instanceof AbortError) continue;
      if (!isOutage(error) || readMonotonicMs(clock) > giveUpMs) throw error;
      const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
      await clock.sleep(choosePauseMs(clock, OUTAGE, failures, askedMs), signal);
      failures += 1;
      watch.requestCheck();
    }
  }
}

async function requireSuccess<Payload, Result>(
  calls: RunDeps['calls'],
  task: SuccessfulTask<Payload, Result> | FailedTask<Payload>,
  call: CallOptions,
): Promise<SuccessfulTask<Payload, Result>> {
  if (task.status === 'success') return task;
  const isUnmatched = task.error_info === NO_AGENT_TEXT;
  const explanation = isUnmatched ? await explainQuietly(calls, task.request_id, call) : undefined;
  throw createTaskError(task as unknown as FailedTask, explanation);
}

/**
 * Explains a task that found no agent; undefined if that fails or takes too long, as with an older gateway.
 */
async function explainQuietly(
  calls: RunDeps['calls'],
  request_id: string,
  { signal, headers }: CallOptions,
): Promise<TaskExplanation | undefined> {
  try {
    return await calls.explainTask(request_id, {
      ...{ signal, headers, timeoutMs: EXPLAIN_TIMEOUT_MS, maxRetries: 0 },
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
 * Cancels the task for a caller who has aborted the run. A failure is ignored: the caller gets the
 * `AbortError`.
 */
async function cancelQuietly(calls: RunDeps['calls'], request_id: string, call: CallOptions): Promise<void> {
  try {
    await calls.cancelTask(request_id, {
      ...call,
      signal: undefined,
      timeoutMs: CANCEL_TIMEOUT_MS,
      maxRetries: 1,
    });
  } catch (error) {
    if (!(error instanceof TaskGatewayError)) throw error;
  }
}

/** Watches a session's stream for one task, and decides when to get the task. */
type StreamWatch = {
  readonly onItem: FeedListener;
  /**
   * Resolves when the stream is open or known to be down, when `maxMs` has passed or when the signal fires.
   */
  waitForOpen(maxMs: number): Promise<void>;
  /** Names the task whose events matter. One that came before counts too. */
  watchTask(request_id: string): void;
  isOpen(): boolean;
  /** Makes the next `waitForCheck` resolve at once. */
  requestCheck(): void;
  /** Resolves when the task should be fetched, when `maxMs` has passed or when the signal fires. */
  waitForCheck(maxMs: number): Promise<void>;
};

function createStreamWatch(clock: Clock, signal: AbortSignal | undefined): StreamWatch {
  const early = new Set<string>();
  let watched: string | undefined;
  let state: 'new' | 'open' | 'down' = 'new';
  let isDue = false;
  let lastCheckMs = Number.NEGATIVE_INFINITY;
  let quickChecks = QUICK_CHECKS;
  let wake: () => void = () => undefined;

  /** Waits until the condition, checked at each item of the feed, holds or `maxMs` has passed. */
  async function waitUntil(isMet: () => boolean, maxMs: number): Promise<void> {
    const linked = linkSignals(signal);
    wake = () => {
      if (isMet()) linked.abort();
    };
    wake();
    await clock.sleep(maxMs, linked.signal);
    linked.abort();
  }

  return {
    isOpen: () => state === 'open',
    requestCheck: () => {
      isDue = true;
    },
    onItem(item) {
      switch (item.kind) {
        case 'event':
          if (watched === undefined) early.add(item.event.request_id);
          isDue ||= item.event.request_id === watched;
          break;
        case 'gap':
          isDue = true;
          break;
        case 'open':
          isDue ||= state === 'down';
          state = 'open';
          break;
        default:
          state = 'down';
      }
      wake();
    },
    waitForOpen: (maxMs) => waitUntil(() => state !== 'new', maxMs),
    watchTask(request_id) {
      watched = request_id;
      isDue ||= early.has(request_id);
      early.clear();
    },
    async waitForCheck(maxMs) {
      await waitUntil(() => isDue || state === 'down', maxMs);
      const restMs = lastCheckMs + HELD_EVERY_MS - readMonotonicMs(clock);
      if (restMs > 0 && quickChecks === 0) await clock.sleep(restMs, signal);
      else if (restMs > 0 && state === 'down') await waitUntil(() => isDue, restMs);
      if (isDue && quickChecks > 0) quickChecks -= 1;
      isDue = false;
      lastCheckMs = readMonotonicMs(clock);
    },
  };
}
