/**
 * One push from its start to its outcome. It waits for a permit to send, then reads the task, and gives the
 * permit back as soon as the request is written. A task that was just submitted is in memory and need not be
 * read, if the push need not wait. While the agent works on its response, only the connection is held.
 *
 *   started ─▶ waits for its permit ─▶ reads, encodes, writes the task ─▶ waits for the response ─▶ outcome
 *                    ╰── longer than 30 s: not taken
 */

import { createLargeWork } from '../../async/large-work.ts';
import { PUSH_RESPONSE_WITHIN_MS } from '../../domain/delivery.ts';
import { describeTask, type TaskInput, type TaskState } from '../../domain/task.ts';
import { SMALL_LENGTH_MAX } from '../../domain/value-size.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Pusher, PushOutcome } from '../../ports/pusher.ts';
import { type Lease, type Store, type Stored, taskRef } from '../../ports/store.ts';
import type { Span, Tracing } from '../../ports/tracing.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import {
  createPushPermits,
  LARGE_PUSH_BYTES_MAX,
  type PushPermits,
  SMALL_PUSHES_MAX,
} from './push-permits.ts';

/** One attempt to push a task to an agent. */
export type PushAttempt = {
  readonly request_id: string;
  readonly agent_id: string;
  readonly endpoint: string;
  /** The agent's registration when the attempt was committed. */
  readonly registration: string;
  /** The state written by the commit that allows this attempt. */
  readonly written: Stored<TaskState>;
  readonly lease: Lease;
};

export type RunningPush = {
  readonly attempt: PushAttempt;
  readonly origin: string;
  /** Null once the lease was given back. */
  lease: Lease | null;
  /** When the push gives its lease back, by the monotonic clock. */
  readonly leaseUntilMs: number;
  readonly stop: AbortController;
  /** The agent has the task, even if the commit of that still waits. */
  isAcknowledged: boolean;
  /** When the push was sent, by the monotonic clock; null before. */
  sentMs: number | null;
  /** The input of a task that was just submitted. Dropped once the push is sent or waits for its permit. */
  input: TaskInput | undefined;
};

/** Creates a push that is not sent yet, under the lease of its attempt. */
export function createRunningPush(
  { store, clock }: Pick<Deps, 'store' | 'clock'>,
  attempt: PushAttempt,
  origin: string,
  input: TaskInput | undefined,
): RunningPush {
  const { lease, written } = attempt;
  const openMs = Math.min(OPEN_MAX_MS, written.value.deadlineMs - store.nowMs());
  const leaseUntilMs = clock.monotonicMs() + openMs;
  const stop = new AbortController();
  return { attempt, origin, lease, leaseUntilMs, stop, isAcknowledged: false, sentMs: null, input };
}

export type PushSending = {
  /**
   * Sends a push and resolves with its outcome; with null if nothing was sent because the task has moved on
   * or the push was stopped.
   */
  send(push: RunningPush): Promise<PushOutcome | null>;
};

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly pusher: Pusher;
  readonly commits: TaskCommits;
  readonly log: Log;
  readonly tracing: Tracing;
};

/** A push that waits longer for its permit counts as not taken: another agent may be free. */
const PERMIT_WITHIN_MS = 30_000;
/** After this long every push has ended by itself. It includes 15 s to get a connection. */
const OPEN_MAX_MS = PERMIT_WITHIN_MS + PUSH_RESPONSE_WITHIN_MS + 15_000;
/**
 * After a longer wait, for its permit or for the commit that allows it, a push renews its lease first.
 * Otherwise the lease may run out soon, or another replica may have the task already.
 */
const LONG_WAIT_MS = 200;

const NOT_SENT: PushOutcome = {
  kind: 'untaken',
  status: null,
  error: `not sent: earlier pushes took all of its share for ${PERMIT_WITHIN_MS / 1_000} s`,
  busy: false,
  leave: false,
  retryAfterMs: null,
};

/** The outcome when the task cannot be read, because it is damaged or the store is busy. */
const UNREADABLE: PushOutcome = { ...NOT_SENT, error: 'not sent: the task cannot be read' };

/** Whether nothing was sent, so that the outcome says nothing about the agent. */
export function isNotSent(outcome: PushOutcome): boolean {
  return outcome === NOT_SENT || outcome === UNREADABLE;
}

export function createPushSending(deps: Deps): PushSending {
  const smallPermits = createPushPermits(SMALL_PUSHES_MAX);
  const largePermits = createPushPermits(LARGE_PUSH_BYTES_MAX);
  const readLarge = createLargeWork();

  return {
    async send(push) {
      const { payloadBytes } = push.attempt.written.value;
      const isSmall = payloadBytes <= SMALL_LENGTH_MAX;
      const permits = isSmall ? smallPermits : largePermits;
      const end = await takePermit(deps, permits, push, isSmall ? 1 : payloadBytes);
      try {
        if (end === null) return push.stop.signal.aborted || push.lease === null ? null : NOT_SENT;
        const outcome = isSmall
          ? startSending(deps, push, end)
          : readLarge.run(() => startSending(deps, push, end));
        return await (await outcome).promise;
      } finally {
        end?.();
      }
    },
  };
}

/** Waits for a permit; null if none came in time or the push was stopped. */
async function takePermit(
  { clock }: Deps,
  permits: PushPermits,
  push: RunningPush,
  size: number,
): Promise<(() => void) | null> {
  const { attempt, origin, stop } = push;
  const sized = { agent_id: attempt.agent_id, origin, size };
  const atOnce = permits.takeAtOnce(sized);
  if (atOnce) return atOnce;
  push.input = undefined;
  const waited = new AbortController();
  const permit = permits.take(sized, AbortSignal.any([stop.signal, waited.signal]));
  const late = new AbortController();
  void clock.sleep(PERMIT_WITHIN_MS, late.signal).then(() => waited.abort('late'));
  const end = await permit;
  late.abort('over');
  return end;
}

/**
 * Reads the task and starts to send it. Resolves with an object that holds the promise of the outcome, so
 * that the next large task need not wait for the response. Nothing here keeps the task afterwards.
 */
async function startSending(
  deps: Deps,
  push: RunningPush,
  end: () => void,
): Promise<{ readonly promise: Promise<PushOutcome | null> }> {
  const { store, pusher } = deps;
  const { attempt, stop, lease } = push;
  const { endpoint, written } = attempt;
  const nothing = { promise: Promise.resolve(null) };
  if (lease === null || stop.signal.aborted) return nothing;
  const waitedMs = store.nowMs() - (written.value.delivery?.attemptMs ?? 0);
  if (waitedMs > LONG_WAIT_MS && !(await renewLease(deps, push))) return nothing;
  const input = push.input ?? (await readInput(deps, attempt));
  push.input = undefined;
  if (input === null) return { promise: Promise.resolve(UNREADABLE) };
  if (!input) return nothing;
  const remainingSeconds = Math.max(0, written.value.deadlineMs - store.nowMs()) / 1_000;
  const task = describeTask(input, written.value);
  const { request_id, agent_id } = attempt;
  const span = deps.tracing.startSpan('push', input.trace, { request_id, agent_id });
  const trace = span?.trace ?? input.trace;
  const sent = { endpoint, task, remainingSeconds };
  push.sentMs = deps.clock.monotonicMs();
  const outcome = pusher.push(trace ? { ...sent, trace } : sent, stop.signal, end);
  return { promise: span ? endWithOutcome(span, outcome) : outcome };
}

async function endWithOutcome(span: Span, pushing: Promise<PushOutcome>): Promise<PushOutcome> {
  const outcome = await pushing;
  const status = outcome.status === null ? {} : { status: outcome.status };
  span.end(status, outcome.kind === 'acknowledged' ? undefined : outcome.error);
  return outcome;
}

/** Resolves with null if the task cannot be read, with undefined if it is no longer kept. */
async function readInput(
  { store, log }: Deps,
  { request_id, written }: PushAttempt,
): Promise<TaskInput | null | undefined> {
  try {
    return (await store.get('input', request_id))?.value;
  } catch (error) {
    // Only the first attempt is logged, because later attempts would say the same. The store itself reports
    // an outage.
    const isFirst = written.value.delivery?.attempts === 1 && store.health().ok;
    if (isFirst) log.error({ request_id, err: error }, 'a task cannot be read, so it is not pushed');
    return null;
  }
}

/**
 * Returns whether the push has the lease. If not, the task was settled or acknowledged, or another dispatcher
 * has taken it.
 */
async function renewLease({ commits }: Deps, push: RunningPush): Promise<boolean> {
  const { lease, attempt } = push;
  if (lease === null) return false;
  const { ok } = await commits.reschedule([{ ref: taskRef(attempt.request_id), atMs: 'held', lease }]);
  // This process may have taken the task again meanwhile, and given the new lease to this push.
  return ok || (push.lease !== null && push.lease !== lease);
}

/** Makes the task due at once. The next look fails it at its deadline, moves it or pushes it again. */
export async function giveBackLease(
  { store, commits }: Pick<Deps, 'store' | 'commits'>,
  push: RunningPush,
): Promise<void> {
  const { lease, attempt } = push;
  if (lease === null) return;
  push.lease = null;
  const due = [{ ref: taskRef(attempt.request_id), atMs: store.nowMs(), lease }];
  await commits.reschedule(due).catch(() => undefined);
}
