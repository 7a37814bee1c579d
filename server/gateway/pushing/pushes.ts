/**
 * The pushes under way. A push starts after the commit that allows it is durable. It runs under the lease of
 * the task's due entry, which is renewed every 0.4 s, so that no other replica pushes the same task. It ends
 * with a commit of its outcome: acknowledged, untaken, or unknown with a later look.
 *
 * A push without a response ends as unknown after five minutes. If the task's deadline comes first, the push
 * gives its lease back at the next renewal, and its connection stays open.
 *
 *   started ─ response or failure ─▶ outcome recorded ─▶ finished
 *      │        acknowledged: recorded within 250 ms, unless the task is settled before
 *      │ no response by the deadline
 *      └──▶ lease given back ─ late response ─▶ outcome recorded ─▶ finished
 *      │ its agent is gone, and another is eligible
 *      └──▶ stopped, lease given back: the task may move
 *
 * The number of pushes under way is bounded, because each costs a connection, about 25 KiB; one origin may
 * have half of them. How many are sending is another bound (`push-permits.ts`). Beyond the bound, tasks are
 * turned away and come back later, one after the other. For example, 10,000 tasks for agents that hang come
 * back at a steady pace, not all at once.
 */
import { createAmounts } from '../../async/amounts.ts';
import { runInSlices } from '../../async/slices.ts';
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { TaskInput, TaskState } from '../../domain/task.ts';
import { parseEndpoint } from '../../net/endpoint.ts';
import type { Clock, Random } from '../../ports/clock.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { Log } from '../../ports/log.ts';
import type { Observer } from '../../ports/observer.ts';
import type { Pusher } from '../../ports/pusher.ts';
import { type Lease, type Ref, type Store, StoreUnavailable, taskRef } from '../../ports/store.ts';
import type { Tracing } from '../../ports/tracing.ts';
import type { PushRecords } from '../agents/push-records.ts';
import type { RegisteredAgents } from '../agents/registered-agents.ts';
import type { UntakenTasks } from '../agents/untaken-tasks.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import { recordPush } from './push-outcome.ts';
import {
  createPushSending,
  createRunningPush,
  giveBackLease,
  type PushAttempt,
  type RunningPush,
} from './push-sending.ts';

export type Pushes = {
  /**
   * Starts one attempt and returns at once. `input` saves a read if the attempt need not wait for its permit.
   * While the pushes drain, nothing starts: a dispatcher finds the task due later.
   */
  start(attempt: PushAttempt, input?: TaskInput): void;
  /**
   * If a push of this task to this agent runs here, gives it the new lease and returns true. Then no second
   * push must start.
   */
  adopt(request_id: string, agent_id: string, lease: Lease): boolean;
  /** Stops the pushes without a response whose task may move, and makes these tasks due at once. */
  stopMovable(mayMove: (written: TaskState) => boolean): Promise<void>;
  /**
   * Whether another push to this endpoint may start: there are few enough connections in total and to its
   * origin.
   */
  mayOpenConnection(endpoint: string): boolean;
  /**
   * When to look again at a task that may not be pushed now. Each call returns a later time, up to 15 s from
   * now; then all calls return this limit.
   */
  nextRetryMs(): number;
  /** Renews the leases of the pushes under way, or gives them back at their deadline. Called every 0.4 s. */
  renewLeases(): Promise<void>;
  /**
   * Waits for the pushes under way, then abandons the rest. A dispatcher finds their tasks due and pushes
   * them again.
   */
  drain(graceMs: number): Promise<void>;
};

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly pusher: Pusher;
  readonly agents: RegisteredAgents;
  readonly commits: TaskCommits;
  readonly acknowledgements: Acknowledgements;
  readonly log: Log;
  readonly observer: Pick<Observer, 'noteAgent'>;
  readonly tracing: Tracing;
  readonly pushRecords: Pick<PushRecords, 'note'>;
  readonly untakenTasks: Pick<UntakenTasks, 'noteTaken' | 'noteRetry'>;
  /** How many pushes may be under way at once. */
  readonly pushesMax: number;
};

/** How many leases one call of the store renews. The store serves no other call meanwhile. */
const RENEW_AT_ONCE = 500;
/** A task that was turned away is looked at again after this long at the earliest. */
const RETRY_AFTER_MS = 250;
/** Tasks that were turned away come back at this distance in time. */
const RETRY_EVERY_MS = 4;
/** A task that was turned away is looked at again after this long at the latest. */
const RETRY_WITHIN_MS = 15_000;

export function createPushes(deps: Deps): Pushes {
  const { store, clock } = deps;
  const sending = createPushSending(deps);
  /** All pushes. For one task there may be two: an older push that gave its lease back, and its successor. */
  const running = new Set<RunningPush>();
  const latest = new Map<string, RunningPush>();
  /** The pushes without a response, in total and by origin. Each has a connection. */
  let openCount = 0;
  const openTo = createAmounts<string>();
  const nextRetryMs = createRetryPace();
  let idle = Promise.withResolvers<void>();
  let isDraining = false;

  function countOpen({ origin }: RunningPush, change: 1 | -1): void {
    openCount += change;
    openTo.add(origin, change);
  }

  async function run(push: RunningPush): Promise<void> {
    const outcome = await sending.send(push).finally(() => countOpen(push, -1));
    if (outcome === null) return;
    if (push.stop.signal.aborted && outcome.kind !== 'acknowledged') return;
    await recordPush(deps, push, outcome);
  }

  /**
   * Waits until no push is under way, at most this long. Leases are renewed, so that no replica pushes again.
   */
  async function waitWhileHeld(graceMs: number): Promise<void> {
    const untilMs = clock.monotonicMs() + graceMs;
    for (let leftMs = graceMs; running.size > 0 && leftMs > 0; leftMs = untilMs - clock.monotonicMs()) {
      // The store itself reports an outage.
      void renewLeases(deps, running).catch(() => undefined);
      const over = new AbortController();
      const pauseMs = Math.min(leftMs, STORE_LIMITS.renewLeaseEveryMs);
      await Promise.race([idle.promise, clock.sleep(pauseMs, over.signal)]);
      over.abort('over');
    }
  }

  function finish(push: RunningPush): void {
    const { request_id } = push.attempt;
    running.delete(push);
    if (latest.get(request_id) === push) latest.delete(request_id);
    if (running.size === 0) idle.resolve();
  }

  return {
    start(attempt, input) {
      const origin = originOf(attempt.endpoint);
      const push = createRunningPush(deps, attempt, origin, input);
      if (isDraining) {
        void giveBackLease(deps, push);
        return;
      }
      if (running.size === 0) idle = Promise.withResolvers<void>();
      running.add(push);
      latest.set(attempt.request_id, push);
      countOpen(push, 1);
      run(push)
        .catch((error: unknown) => logFailure(deps.log, attempt, error))
        .finally(() => finish(push));
    },

    adopt(request_id, agent_id, lease) {
      const push = latest.get(request_id);
      if (!push || push.attempt.agent_id !== agent_id || push.lease === null) return false;
      push.lease = lease;
      return true;
    },

    stopMovable: (mayMove) => stopMovable(deps, [...running], mayMove),

    mayOpenConnection(endpoint) {
      if (isDraining || openCount >= deps.pushesMax) return false;
      return openTo.of(originOf(endpoint)) < deps.pushesMax / 2;
    },

    nextRetryMs: () => nextRetryMs(store.nowMs()),

    renewLeases: () => renewLeases(deps, running),

    async drain(graceMs) {
      isDraining = true;
      deps.acknowledgements.flush();
      if (running.size === 0) return;
      await waitWhileHeld(graceMs);
      for (const { stop } of running) stop.abort('draining');
      if (running.size > 0) await idle.promise;
    },
  };
}

/** Renews leases. Pushes that reached their deadline give theirs back. */
async function renewLeases(deps: Deps, running: ReadonlySet<RunningPush>): Promise<void> {
  const { store, clock } = deps;
  const over: RunningPush[] = [];
  let held: { readonly ref: Ref; readonly lease: Lease }[] = [];
  for (const push of running) {
    const { attempt, lease, leaseUntilMs } = push;
    if (leaseUntilMs <= clock.monotonicMs()) over.push(push);
    else if (lease !== null) held.push({ ref: taskRef(attempt.request_id), lease });
    if (held.length < RENEW_AT_ONCE) continue;
    await store.renewLeases(held);
    await yieldToEventLoop();
    held = [];
  }
  if (held.length > 0) await store.renewLeases(held);
  await runInSlices(over, (push) => giveBackLease(deps, push));
}

/** Creates the function that spreads the returns of tasks over time. */
function createRetryPace(): (nowMs: number) => number {
  let lastMs = 0;
  return (nowMs) => {
    const earliestMs = Math.max(nowMs + RETRY_AFTER_MS, lastMs + RETRY_EVERY_MS);
    lastMs = Math.min(nowMs + RETRY_WITHIN_MS, earliestMs);
    return lastMs;
  };
}

async function stopMovable(
  deps: Deps,
  pushes: readonly RunningPush[],
  mayMove: (written: TaskState) => boolean,
): Promise<void> {
  const movable = pushes.filter(
    ({ lease, isAcknowledged, attempt }) =>
      lease !== null && !isAcknowledged && mayMove(attempt.written.value),
  );
  for (const { stop } of movable) stop.abort('its agent is gone');
  await runInSlices(movable, (push) => giveBackLease(deps, push));
}

/**
 * The scheme, host and port of an endpoint. An invalid endpoint, which is never pushed to, is its own origin.
 */
function originOf(endpoint: string): string {
  const parsed = parseEndpoint(endpoint);
  return typeof parsed === 'string' ? endpoint : parsed.origin;
}

function logFailure(log: Log, { request_id }: PushAttempt, error: unknown): void {
  // The store itself reports an outage.
  const level = error instanceof StoreUnavailable ? 'debug' : 'error';
  log[level]({ err: error, request_id }, 'the outcome of a push could not be stored');
}
