/**
 * The pushes under way. A push starts after the commit that allows it is durable. It runs under the lease of
 * the task's due entry, renewed every 0.4 s, so that no other replica pushes the same task beside it. It ends
 * in a commit of its outcome: acknowledged, untaken, or unknown with a later look.
 *
 * A push that has no response when the task's deadline or five minutes are over gives its lease back. Its
 * connection stays open, and a late 2xx still counts.
 *
 *   started ─ response or failure ─▶ outcome recorded ─▶ finished
 *      │ no response in time
 *      └──▶ lease given back ─ late response ─▶ outcome recorded ─▶ finished
 */
import { BUSY_REST_MS, PUSH_OPEN_MAX_MS, retryAfterMs } from '../domain/delivery.ts';
import { describeTask, type TaskInput, type TaskState } from '../domain/task.ts';
import type { Clock, Random } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Pusher, PushOutcome } from '../ports/pusher.ts';
import { type Lease, type Store, type Stored, StoreUnavailable, taskRef } from '../ports/store.ts';
import type { TaskCommits } from './commit-step.ts';
import type { RegisteredAgents } from './registered-agents.ts';

type Attempt = {
  readonly request_id: string;
  readonly agent_id: string;
  readonly endpoint: string;
  /** The submitted input, read beside that commit. */
  readonly input: Promise<Stored<TaskInput> | undefined>;
  /** The state that was written by the commit that allows this attempt. */
  readonly written: Stored<TaskState>;
  readonly lease: Lease;
};

export type Pushes = {
  /** Starts one attempt; returns at once. */
  start(attempt: Attempt): void;
  /**
   * If a push of this task to this agent runs here, gives it the new lease and returns true: no second push
   * starts.
   */
  adopt(request_id: string, agent_id: string, lease: Lease): boolean;
  /** How many are under way. */
  count(): number;
  /** Renews the leases of all that are under way. Called every 0.4 s. */
  renewLeases(): Promise<void>;
  /**
   * Waits for the pushes under way, then abandons the rest. The dispatcher that finds them due pushes them
   * again.
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
  readonly log: Log;
};

/** A running push; `lease` is null once it was given back. */
type Running = { readonly attempt: Attempt; lease: Lease | null; readonly stop: AbortController };

/** Creates the set of pushes under way, empty. */
export function createPushes(deps: Deps): Pushes {
  const { store, clock } = deps;
  const running = new Map<string, Running>();
  let idle = Promise.withResolvers<void>();

  function finish(push: Running): void {
    const { request_id } = push.attempt;
    if (running.get(request_id) === push) running.delete(request_id);
    if (running.size === 0) idle.resolve();
  }

  return {
    start(attempt) {
      const push: Running = { attempt, lease: attempt.lease, stop: new AbortController() };
      if (running.size === 0) idle = Promise.withResolvers<void>();
      running.set(attempt.request_id, push);
      runPush(deps, push)
        .catch((error: unknown) => logFailure(deps.log, attempt, error))
        .finally(() => finish(push));
    },

    adopt(request_id, agent_id, lease) {
      const push = running.get(request_id);
      if (!push || push.attempt.agent_id !== agent_id || push.lease === null) return false;
      push.lease = lease;
      return true;
    },

    count: () => running.size,

    async renewLeases() {
      const held = [];
      for (const { attempt, lease } of running.values()) {
        if (lease !== null) held.push({ ref: taskRef(attempt.request_id), lease });
      }
      if (held.length > 0) await store.renewLeases(held);
    },

    async drain(graceMs) {
      if (running.size === 0) return;
      const over = new AbortController();
      await Promise.race([idle.promise, clock.sleep(graceMs, over.signal)]);
      over.abort('over');
      for (const { stop } of running.values()) stop.abort('draining');
      if (running.size > 0) await idle.promise;
    },
  };
}

function logFailure(log: Log, { request_id }: Attempt, error: unknown): void {
  const level = error instanceof StoreUnavailable ? 'warn' : 'error';
  log[level]({ err: error, request_id }, 'the outcome of a push could not be stored');
}

async function runPush(deps: Deps, push: Running): Promise<void> {
  const { attempt, stop } = push;
  const input = (await attempt.input)?.value;
  if (!input) return;
  const outcome = await sendPush(deps, push, input);
  if (stop.signal.aborted && outcome.kind !== 'acknowledged') return;
  // The next agent of a task that was not taken is picked only after the index knows which agent did not take
  // it.
  const noted = notePushContact(deps, attempt, outcome);
  if (outcome.kind !== 'acknowledged') await noted.catch(() => undefined);
  // The task's outcome matters more than the agent's statistics: it is stored even where those cannot be.
  for (const done of await Promise.allSettled([recordOutcome(deps, push, outcome), noted])) {
    if (done.status === 'rejected') throw done.reason;
  }
}

/** Sends the push; gives its lease back when there is no response in time. */
async function sendPush(deps: Deps, push: Running, input: TaskInput): Promise<PushOutcome> {
  const { attempt, stop } = push;
  const state = attempt.written.value;
  const nowMs = deps.store.nowMs();
  const remainingMs = Math.max(0, state.deadlineMs - nowMs);
  const answered = new AbortController();
  void deps.clock
    .sleep(Math.min(PUSH_OPEN_MAX_MS, remainingMs), answered.signal)
    .then(() => (answered.signal.aborted ? undefined : giveBackLease(deps, push)));
  const task = describeTask(input, state);
  const { endpoint } = attempt;
  const outcome = await deps.pusher.push(
    { endpoint, task, remainingSeconds: remainingMs / 1_000, nowMs },
    stop.signal,
  );
  answered.abort('over');
  return outcome;
}

/** The task is due at once: the next look finds its deadline over, or pushes again. */
async function giveBackLease({ store, commits }: Deps, push: Running): Promise<void> {
  const { lease, attempt } = push;
  if (lease === null) return;
  push.lease = null;
  const due = [{ ref: taskRef(attempt.request_id), atMs: store.nowMs(), lease }];
  await commits.reschedule(due).catch(() => undefined);
}

async function notePushContact(
  { store, agents }: Deps,
  { agent_id, written }: Attempt,
  outcome: PushOutcome,
): Promise<void> {
  const { status } = outcome;
  if (outcome.kind === 'acknowledged') {
    await agents.noteContactIfRegistered(agent_id, { by: 'push', taken: true, status, error: null });
    return;
  }
  const agentStatus = await agents.findIfRegistered(agent_id);
  // The failure of an attempt older than the registration says nothing about the agent as it is registered
  // now.
  if (agentStatus && agentStatus.record.registeredMs > (written.value.delivery?.attemptMs ?? 0)) return;
  const touch = { by: 'push', taken: false, status, error: outcome.error } as const;
  if (outcome.kind === 'untaken' && outcome.busy) {
    await agents.noteContactIfRegistered(agent_id, { ...touch, busy: true });
    return;
  }
  await store.touch(agent_id, touch);
  if (!agentStatus) return;
  const { left: answered410, offlineMs } = agentStatus.record;
  if (outcome.kind === 'untaken' && outcome.leave && !answered410) {
    const offline = { left: true, offlineMs: offlineMs ?? store.nowMs() };
    await agents.changeRecord(agent_id, (record) => ({ ...record, ...offline }));
  }
}

/** Commits the outcome of an attempt. The step itself decides whether it still matters. */
async function recordOutcome(deps: Deps, push: Running, outcome: PushOutcome): Promise<void> {
  const { store, commits } = deps;
  const { request_id, agent_id, written } = push.attempt;
  const attempt = written.value.delivery?.attempts ?? 0;
  const nowMs = store.nowMs();
  switch (outcome.kind) {
    case 'acknowledged':
      await recordAcknowledged(deps, push, attempt, nowMs);
      return;
    case 'untaken': {
      const nextMs = nowMs + retryAfterMs(attempt, deps.random(), outcome.retryAfterMs);
      const busyUntilMs = outcome.busy ? nowMs + BUSY_REST_MS : null;
      // After "busy" or 410 the task is looked at again at once: another agent may be free. A waiting task too:
      // it was not offered while the attempt was under way.
      const isDueNow = outcome.busy || outcome.leave || written.value.waiting;
      const options = isDueNow ? { dueAt: nowMs } : {};
      const trigger = { type: 'untaken', agent_id, attempt, nextMs, busyUntilMs } as const;
      await commits.advanceTask(request_id, trigger, options);
      return;
    }
    case 'unknown': {
      if (push.lease === null) return;
      const retryMs = nowMs + retryAfterMs(attempt, deps.random(), outcome.retryAfterMs);
      const atMs = Math.min(written.value.deadlineMs, retryMs);
      await commits.reschedule([{ ref: taskRef(request_id), atMs, lease: push.lease }]);
      return;
    }
  }
}

async function recordAcknowledged(
  { commits }: Deps,
  push: Running,
  attempt: number,
  nowMs: number,
): Promise<void> {
  const { request_id, agent_id, written } = push.attempt;
  const trigger = { type: 'acknowledge', agent_id, attempt } as const;
  const result = await commits.advanceTask(request_id, trigger, {}, written);
  // The agent has registered again since and does not have the task: its earlier process answered.
  const isDisowned = result.kind === 'unchanged' && result.state.delivery?.acknowledged === false;
  const { lease } = push;
  if (!isDisowned || lease === null) return;
  // Given back before the entry is due: a lease that is held would say that a push is still under way.
  push.lease = null;
  await commits.reschedule([{ ref: taskRef(request_id), atMs: nowMs, lease }]);
}
