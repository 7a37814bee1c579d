/**
 * `runTask`: hands in a task and waits for its end (§6 rule 4). The stream says when to look; what is answered is
 * always what `getTask` says, so an event that comes twice or not at all changes nothing.
 *
 * Stream open: looks when the task's event comes, after each reconnection or gap, and once a minute in any case.
 * Stream down: polls, with the gateway holding each poll until the task has ended. An outage of the gateway is waited
 * out until the task must have ended by its own timeout.
 */
import { type Clock, linkSignals } from './clock.ts';
import type { FailedTask, RequestId, SuccessfulTask, Task, TaskSubmission } from './contract.ts';
import {
  AbortError,
  ApiError,
  ConnectionError,
  createTaskError,
  TaskGatewayError,
  TimeoutError,
} from './errors.ts';
import type { SharedFeeds } from './stream/shared.ts';
import { type CallOptions, isTransient } from './transport.ts';

/** What may be set for a run; `timeoutMs` and `maxRetries` hold for each of its calls. */
export type RunOptions = CallOptions & {
  /** A text naming this one task; a repeated run with the same key and content finds the task the first one made. */
  readonly idempotencyKey?: string | undefined;
  /** Told the task as submitted, and each time its status or progress has changed. Asks the gateway each second. */
  readonly onProgress?: ((task: Task) => void) | undefined;
  /** Whether the signal also cancels the task; otherwise it goes on without anybody waiting. */
  readonly cancelOnAbort?: boolean | undefined;
};

/** The calls a run is made of. */
export type RunCalls = {
  submitTask(
    submission: TaskSubmission,
    options: CallOptions & { readonly idempotencyKey?: string | undefined },
  ): Promise<Task>;
  getTask(
    request_id: RequestId,
    options: CallOptions & { readonly wait?: number | undefined },
  ): Promise<Task>;
  cancelTask(request_id: RequestId, options: CallOptions): Promise<unknown>;
};

export type RunDeps = {
  readonly calls: RunCalls;
  readonly feeds: SharedFeeds;
  readonly clock: Clock;
  /** The session of tasks that are submitted without one. */
  readonly ownSession: string;
};

/** A submission waits so long for the stream to open; the events are stored, so nothing is lost without it. */
const OPEN_MAX_MS = 5_000;
const PROGRESS_EVERY_MS = 1_000;
const LOOK_EVERY_MS = 60_000;
const POLL_SECONDS = 20;
/** Between two polls, also where a gateway does not hold them. */
const POLL_EVERY_MS = 1_000;
const OUTAGE_PAUSE_MS = 2_000;
/** The longest a task may last (seconds), and what it is given on top before an outage is told as an error. */
const TASK_SECONDS_MAX = 604_800;
const GRACE_MS = 60_000;
const CANCEL_TIMEOUT_MS = 5_000;

/** Runs a task to its end. Throws `TaskFailedError`s for one that failed, and what the calls throw. */
export async function runTask(
  deps: RunDeps,
  submission: TaskSubmission,
  options: RunOptions = {},
): Promise<SuccessfulTask> {
  const { signal, cancelOnAbort, idempotencyKey, timeoutMs, maxRetries, headers, onResponse } = options;
  if (signal?.aborted) throw new AbortError(signal.reason);
  const session = submission.cli_session_id || deps.ownSession;
  const watch = createWatch(deps.clock, signal);
  const leave = deps.feeds.listen(session, watch.hear);
  try {
    await watch.opened(OPEN_MAX_MS);
    if (signal?.aborted) throw new AbortError(signal.reason);
    const submitted = await deps.calls.submitTask(
      { ...submission, cli_session_id: session },
      {
        timeoutMs,
        maxRetries,
        headers,
        onResponse,
        idempotencyKey,
        signal: cancelOnAbort ? undefined : signal,
      },
    );
    watch.name(submitted.request_id);
    return await followTask(deps, submitted, watch, options);
  } finally {
    leave();
  }
}

/** Looks at the task whenever there is reason to, until it has ended. */
async function followTask(
  deps: RunDeps,
  submitted: Task,
  watch: Watch,
  options: RunOptions,
): Promise<SuccessfulTask> {
  const { calls, clock } = deps;
  const { signal, onProgress, cancelOnAbort, timeoutMs, maxRetries, headers, onResponse } = options;
  const call: CallOptions = { signal, timeoutMs, maxRetries, headers, onResponse };
  const giveUpMs = clock.nowMs() + Math.min(submitted.timeout, TASK_SECONDS_MAX) * 1_000 + GRACE_MS;
  let task = submitted;
  onProgress?.(task);
  for (;;) {
    if (isSettled(task)) return judgeEnd(task);
    await watch.news(onProgress ? PROGRESS_EVERY_MS : LOOK_EVERY_MS);
    if (signal?.aborted) {
      if (cancelOnAbort) await cancelQuietly(calls, task.request_id, call);
      throw new AbortError(signal.reason);
    }
    const wait = watch.isOpen() ? undefined : onProgress ? PROGRESS_EVERY_MS / 1_000 : POLL_SECONDS;
    try {
      const before = task;
      task = await calls.getTask(task.request_id, { ...call, wait });
      if (task.status !== before.status || task.progress !== before.progress) onProgress?.(task);
    } catch (error) {
      if (error instanceof AbortError) continue;
      if (!isOutage(error) || clock.nowMs() > giveUpMs) throw error;
      await clock.sleep(OUTAGE_PAUSE_MS, signal);
      watch.lookAgain();
    }
  }
}

function isSettled(task: Task): task is SuccessfulTask | FailedTask {
  return task.status === 'success' || task.status === 'failed';
}

function judgeEnd(task: SuccessfulTask | FailedTask): SuccessfulTask {
  if (task.status === 'success') return task;
  throw createTaskError(task);
}

function isOutage(error: unknown): error is TaskGatewayError {
  if (error instanceof ApiError) return isTransient(error.status);
  return error instanceof TimeoutError || error instanceof ConnectionError;
}

/** The caller has left already: whether the gateway heard of it is not worth another error. */
async function cancelQuietly(calls: RunCalls, request_id: string, call: CallOptions): Promise<void> {
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

/** What a run knows of its stream. */
type Watch = {
  hear: Parameters<SharedFeeds['listen']>[1];
  /** Resolves when the stream is open or known to be down, or the time is over. */
  opened(maxMs: number): Promise<void>;
  /** Says whose events matter; one that came before counts. */
  name(request_id: string): void;
  isOpen(): boolean;
  /** Makes the next `news` resolve at once. */
  lookAgain(): void;
  /** Resolves when there is reason to look at the task, at the latest after the time, or when the signal fires. */
  news(maxMs: number): Promise<void>;
};

function createWatch(clock: Clock, signal: AbortSignal | undefined): Watch {
  const early = new Set<string>();
  let mine: string | undefined;
  let state: 'new' | 'open' | 'down' = 'new';
  let reason = false;
  let lastLookMs = Number.NEGATIVE_INFINITY;
  let wake: () => void = () => undefined;

  /** Waits until `isOver`, looked at whenever something is heard, or the time is over. */
  async function until(isOver: () => boolean, maxMs: number): Promise<void> {
    const linked = linkSignals(signal);
    wake = () => {
      if (isOver()) linked.abort();
    };
    wake();
    await clock.sleep(maxMs, linked.signal);
    linked.abort();
  }

  return {
    isOpen: () => state === 'open',
    lookAgain: () => {
      reason = true;
    },
    hear(item) {
      switch (item.kind) {
        case 'event':
          if (mine === undefined) early.add(item.event.request_id);
          reason ||= item.event.request_id === mine;
          break;
        case 'gap':
          reason = true;
          break;
        case 'open':
          reason ||= state === 'down';
          state = 'open';
          break;
        case 'down':
        case 'ended':
          state = 'down';
          break;
      }
      wake();
    },
    opened: (maxMs) => until(() => state !== 'new', maxMs),
    name(request_id) {
      mine = request_id;
      reason ||= early.has(request_id);
      early.clear();
    },
    async news(maxMs) {
      await until(() => reason || state === 'down', maxMs);
      const restMs = lastLookMs + POLL_EVERY_MS - clock.nowMs();
      if (state === 'down' && restMs > 0) await until(() => reason, restMs);
      reason = false;
      lastLookMs = clock.nowMs();
    },
  };
}
