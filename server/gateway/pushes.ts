/**
 * The pushes under way. A push starts after the commit that allows it is durable, runs under the lease of the task's
 * due entry (kept every 0.4 s, so that no other replica pushes the same task beside it), and ends in a commit of what
 * became of it: acknowledged, untaken, or unknown with a later look.
 *
 * A push that is not answered when the task's deadline or five minutes are over gives its lease back; the connection
 * stays open, and a late 2xx still counts.
 */
import { BUSY_REST_MS, PUSH_OPEN_MAX_MS, retryAfterMs } from '../domain/delivery.ts';
import { describeTask, type TaskInput, type TaskState } from '../domain/task.ts';
import type { Clock, Random } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Pusher, PushOutcome } from '../ports/pusher.ts';
import { type Lease, type Store, type Stored, StoreUnavailable } from '../ports/store.ts';
import { type Transitions, taskRef } from './commit-step.ts';
import type { RegisteredAgents } from './registered-agents.ts';

export type Attempt = {
  readonly request_id: string;
  readonly agent_id: string;
  readonly endpoint: string;
  /** What was submitted, asked for beside that commit. */
  readonly input: Promise<Stored<TaskInput> | undefined>;
  /** What the commit wrote that allows this attempt. */
  readonly written: Stored<TaskState>;
  readonly lease: Lease;
};

export type Pushes = {
  /** Starts one attempt; returns at once. */
  start(attempt: Attempt): void;
  /** Whether a push of this task is under way here; if so it takes over the lease and no second push starts beside it. */
  adopt(request_id: string, agent_id: string, lease: Lease): boolean;
  /** How many are under way. */
  count(): number;
  /** Renews the leases of all that are under way. Called every 0.4 s. */
  keep(): Promise<void>;
  /** Waits for what is under way, then abandons the rest; they are pushed again by whoever finds them due. */
  drain(graceMs: number): Promise<void>;
};

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly pusher: Pusher;
  readonly contacts: RegisteredAgents;
  readonly transitions: Transitions;
  readonly log: Log;
};

type UnderWay = { readonly attempt: Attempt; lease: Lease | null; readonly stop: AbortController };

/** Creates the set of pushes under way, empty. */
export function createPushes(deps: Deps): Pushes {
  const { store, clock, pusher, log } = deps;
  const underWay = new Map<string, UnderWay>();
  let idle = Promise.withResolvers<void>();

  async function run(push: UnderWay): Promise<void> {
    const { attempt, stop } = push;
    const state = attempt.written.value;
    const input = (await attempt.input)?.value;
    if (!input) return;
    const nowMs = store.nowMs();
    const remainingMs = Math.max(0, state.deadlineMs - nowMs);
    const patience = new AbortController();
    void clock
      .sleep(Math.min(PUSH_OPEN_MAX_MS, remainingMs), patience.signal)
      .then(() => (patience.signal.aborted ? undefined : giveBack(push)));
    const task = describeTask(input, state);
    const outcome = await pusher.push(
      { endpoint: attempt.endpoint, task, remainingSeconds: remainingMs / 1_000, nowMs },
      stop.signal,
    );
    patience.abort('over');
    if (stop.signal.aborted && outcome.kind !== 'acknowledged') return;
    // Who is to get a task that was not taken is looked for only when it is known who did not take it.
    const noted = notePushContact(attempt, outcome);
    if (outcome.kind !== 'acknowledged') await noted.catch(() => undefined);
    // What became of the task matters more than the agent's statistics: it is stored even where those cannot be.
    for (const done of await Promise.allSettled([recordOutcome(deps, push, outcome), noted])) {
      if (done.status === 'rejected') throw done.reason;
    }
  }

  /** Whoever looks next finds the deadline over, or pushes again. */
  async function giveBack(push: UnderWay): Promise<void> {
    const { lease, attempt } = push;
    if (lease === null) return;
    push.lease = null;
    const ref = taskRef(attempt.request_id);
    await store.commit({ writes: [], due: [{ ref, atMs: store.nowMs(), lease }] }).catch(() => undefined);
  }

  async function notePushContact({ agent_id, written }: Attempt, outcome: PushOutcome): Promise<void> {
    const { status } = outcome;
    if (outcome.kind === 'acknowledged') {
      await deps.contacts.noteContactIfRegistered(agent_id, { by: 'push', taken: true, status, error: null });
      return;
    }
    const agentStatus = await deps.contacts.findIfRegistered(agent_id);
    // Bad news of an attempt that is older than the registration says nothing of the agent as it is registered now.
    if (agentStatus && agentStatus.record.registeredMs > (written.value.delivery?.attemptMs ?? 0)) return;
    await store.touch(agent_id, { by: 'push', taken: false, status, error: outcome.error });
    if (!agentStatus) return;
    if (outcome.kind === 'untaken' && outcome.leave && !agentStatus.record.left) {
      const nowMs = store.nowMs();
      const leave = { left: true, offlineMs: agentStatus.record.offlineMs ?? nowMs };
      await deps.contacts.change(agent_id, (record) => ({ ...record, ...leave }));
    }
  }

  function finish(push: UnderWay): void {
    const { request_id } = push.attempt;
    if (underWay.get(request_id) === push) underWay.delete(request_id);
    if (underWay.size === 0) idle.resolve();
  }

  return {
    start(attempt) {
      const push: UnderWay = { attempt, lease: attempt.lease, stop: new AbortController() };
      if (underWay.size === 0) idle = Promise.withResolvers<void>();
      underWay.set(attempt.request_id, push);
      run(push)
        .catch((error: unknown) => {
          const level = error instanceof StoreUnavailable ? 'warn' : 'error';
          log[level](
            { err: error, request_id: attempt.request_id },
            'what became of a push could not be stored',
          );
        })
        .finally(() => finish(push));
    },

    adopt(request_id, agent_id, lease) {
      const push = underWay.get(request_id);
      if (!push || push.attempt.agent_id !== agent_id || push.lease === null) return false;
      push.lease = lease;
      return true;
    },

    count: () => underWay.size,

    async keep() {
      const held = [];
      for (const { attempt, lease } of underWay.values()) {
        if (lease !== null) held.push({ ref: taskRef(attempt.request_id), lease });
      }
      if (held.length > 0) await store.renewLeases(held);
    },

    async drain(graceMs) {
      if (underWay.size === 0) return;
      const patience = new AbortController();
      await Promise.race([idle.promise, clock.sleep(graceMs, patience.signal)]);
      patience.abort('over');
      for (const { stop } of underWay.values()) stop.abort('draining');
      if (underWay.size > 0) await idle.promise;
    },
  };
}

/** Commits what became of an attempt. Each step judges anew whether it still matters. */
async function recordOutcome(deps: Deps, push: UnderWay, outcome: PushOutcome): Promise<void> {
  const { store, transitions, random } = deps;
  const { request_id, agent_id, written } = push.attempt;
  const state = written.value;
  const attempt = state.delivery?.attempts ?? 0;
  const nowMs = store.nowMs();
  switch (outcome.kind) {
    case 'acknowledged': {
      const trigger = { type: 'acknowledge', agent_id, attempt } as const;
      const done = await transitions.advance(request_id, () => trigger, {}, written);
      // The agent registered anew meanwhile and does not have it: what answered came down before that.
      const disowned = done.kind === 'unchanged' && done.state.delivery?.acknowledged === false;
      const { lease } = push;
      if (!disowned || lease === null) return;
      // Given back before it is due: whoever looks next must not take this push for one that is still under way.
      push.lease = null;
      await store.commit({ writes: [], due: [{ ref: taskRef(request_id), atMs: nowMs, lease }] });
      return;
    }
    case 'untaken': {
      const nextMs = nowMs + retryAfterMs(attempt, random(), outcome.retryAfterMs);
      const busyUntilMs = outcome.busy ? nowMs + BUSY_REST_MS : null;
      // Who answered busy or left is passed over at once; the look decides whether somebody else is there.
      const dueAt = outcome.busy || outcome.leave ? { dueAt: nowMs } : {};
      await transitions.advance(
        request_id,
        () => ({ type: 'untaken', agent_id, attempt, nextMs, busyUntilMs }),
        dueAt,
      );
      return;
    }
    case 'unknown': {
      if (push.lease === null) return;
      const nextMs = Math.min(
        state.deadlineMs,
        nowMs + retryAfterMs(attempt, random(), outcome.retryAfterMs),
      );
      const due = [{ ref: taskRef(request_id), atMs: nextMs, lease: push.lease }];
      await store.commit({ writes: [], due });
      return;
    }
  }
}
