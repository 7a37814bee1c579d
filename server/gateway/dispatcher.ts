/**
 * The dispatcher: takes what is due and decides, task by task, what happens next: expire, match and assign, wait,
 * abandon, push again, move. It holds no state but the ranking copy; whatever it does not finish comes due again.
 *
 * Every decision rests on what was just read and every commit names the lease under which the entry was taken, so
 * two dispatchers can only be in each other's way, never both succeed.
 */
import { type AgentRecord, PULL_ENDPOINT, unavailableSinceMs } from '../domain/agent.ts';
import {
  type AgentAvailability,
  GONE_AFTER_MS,
  isGone,
  UNCLAIMED_MS,
  wantsToMove,
} from '../domain/delivery.ts';
import type { Candidate } from '../domain/match.ts';
import { step, type Trigger } from '../domain/step.ts';
import {
  type Delivery,
  dueMs,
  isSettled,
  mayBeTaken,
  type TaskInput,
  type TaskState,
} from '../domain/task.ts';
import type { CommitResult, Lease, Store, Stored } from '../ports/store.ts';
import type { AgentIndex } from './agent-index.ts';
import { batchFor, type CommitOptions, taskRef } from './commit-step.ts';
import type { Pushes } from './pushes.ts';

type Deps = {
  readonly store: Store;
  readonly agentIndex: AgentIndex;
  readonly pushes: Pushes;
  /** Pushes under way at once; beyond that what is due waits its turn. */
  readonly pushesMax: number;
};

/** A task whose due entry this dispatcher holds. */
type LeasedTask = { readonly request_id: string; readonly lease: Lease; readonly before: Stored<TaskState> };

export type Dispatcher = {
  /** Does what a due task needs. Throws only what the store throws. */
  lookAtTask(request_id: string, lease: Lease): Promise<void>;
};

/** When all push places are taken, the task is looked at again after this. */
const CROWDED_RETRY_MS = 250;
/** When the store knows a free agent that refused this very task lately, the task is looked at again after this. */
const REFUSED_RETRY_MS = 1_000;
const TRIES_MAX = 8;

/** Creates the dispatcher. */
export function createDispatcher(deps: Deps): Dispatcher {
  const { store, pushes } = deps;

  async function lookAtTask(request_id: string, lease: Lease): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const before = await store.get('task', request_id);
      if (!before || isSettled(before.value)) {
        await store.commit({ writes: [], due: [{ ref: taskRef(request_id), atMs: null, lease }] });
        return;
      }
      const outcome = await advanceTask({ request_id, lease, before });
      if (outcome.ok || outcome.conflict === 'lease') return;
      if (outcome.conflict === 'free_agent') await deps.agentIndex.reload(outcome.agent_id);
    }
    // Everybody else was faster eight times: the entry comes back by itself when the lease is over.
  }

  async function advanceTask(held: LeasedTask): Promise<CommitResult> {
    const { value: state } = held.before;
    if (state.deadlineMs <= store.nowMs()) return await commitStep(held, { type: 'expire' });
    return state.delivery
      ? await continueDelivery(held, state, state.delivery)
      : await assignPending(held, state);
  }

  /** Asked for beside the commit that allows the push, so that the push waits for neither. */
  function askInput(request_id: string): Promise<Stored<TaskInput> | undefined> {
    const input = store.get('input', request_id);
    // If the commit fails nobody asks how this went.
    input.catch(() => undefined);
    return input;
  }

  /** Commits one step under the lease. A refusal means the state moved on: read again. */
  async function commitStep(
    held: LeasedTask,
    trigger: Trigger,
    terms: CommitOptions = {},
  ): Promise<CommitResult> {
    const decided = step(held.before.value, trigger, store.nowMs());
    if (!decided.ok) return { ok: false, conflict: 'revision' };
    const move = { request_id: held.request_id, before: held.before, after: decided.state, trigger };
    return await store.commit(batchFor(move, { lease: held.lease, ...terms }));
  }

  async function lookAgainAt(held: LeasedTask, atMs: number): Promise<CommitResult> {
    return await store.commit({
      writes: [],
      due: [{ ref: taskRef(held.request_id), atMs, lease: held.lease }],
    });
  }

  /** Finds an agent for a pending task; without one it waits as long as it may, then it is abandoned (§1.3). */
  async function assignPending(held: LeasedTask, state: TaskState): Promise<CommitResult> {
    const candidate = deps.agentIndex.pick(state.task_tags);
    if (candidate) return await assign(held, candidate, 'assign');
    const mayWait = state.queueEndMs !== null && state.queueEndMs > store.nowMs();
    if (!mayWait) return await commitStep(held, { type: 'abandon' }, { noneFree: state.task_tags });
    if (state.waiting) return await lookAgain(held, state);
    return await commitStep(held, { type: 'wait' }, { noneFree: state.task_tags });
  }

  /** A waiter goes on waiting only while nobody is free, by the store's word. */
  async function lookAgain(held: LeasedTask, state: TaskState): Promise<CommitResult> {
    const atMs = dueMs(state) ?? store.nowMs();
    const due = [{ ref: taskRef(held.request_id), atMs, lease: held.lease }];
    return await store.commit({ writes: [], due, noneFree: state.task_tags });
  }

  /** Slot, status and agent commit together; the push starts when that is durable. */
  async function assign(
    held: LeasedTask,
    to: Candidate,
    type: 'assign' | 'reassign',
    agentGone = false,
  ): Promise<CommitResult> {
    const { agent_id, endpoint, registration } = to.record;
    const pull = endpoint === PULL_ENDPOINT;
    if (!pull && pushes.count() >= deps.pushesMax)
      return await lookAgainAt(held, store.nowMs() + CROWDED_RETRY_MS);
    const nowMs = store.nowMs();
    deps.agentIndex.noteGrant(agent_id, nowMs);
    const nextMs = pull ? nowMs + UNCLAIMED_MS : nowMs;
    const order = { agent_id, attempted: !pull, nextMs };
    const trigger: Trigger = type === 'assign' ? { type, ...order } : { type, ...order, agentGone };
    const terms: CommitOptions = pull ? { registration } : { registration, dueAt: 'held' };
    const decided = step(held.before.value, trigger, nowMs);
    if (!decided.ok) return { ok: false, conflict: 'revision' };
    const { request_id, lease } = held;
    const input = pull ? null : askInput(request_id);
    const outcome = await commitStep(held, trigger, terms);
    if (!outcome.ok) await deps.agentIndex.reload(agent_id);
    if (outcome.ok && input) {
      const written = { value: decided.state, revision: outcome.revision };
      pushes.start({ request_id, lease, agent_id, endpoint, input, written });
    }
    return outcome;
  }

  /** A running task whose delivery wants a look: moved, pushed again, or left alone until later. */
  async function continueDelivery(
    held: LeasedTask,
    state: TaskState,
    delivery: Delivery,
  ): Promise<CommitResult> {
    const nowMs = store.nowMs();
    const agent_id = state.agent_id ?? '';
    if (delivery.acknowledged) return await lookAgainAt(held, state.deadlineMs);
    const record = (await store.getAgentStatus(agent_id))?.record;
    const presence = availabilityOf(record);
    if (presence.pull && !mayBeTaken(delivery) && nowMs - delivery.assignedMs >= UNCLAIMED_MS) {
      // As a push that was not taken: the agent comes last until it claims, else a dead one would be chosen each time.
      const error = `nothing was claimed for ${UNCLAIMED_MS / 1_000} s`;
      await store.touch(agent_id, { by: 'push', taken: false, status: null, error });
    }
    if (wantsToMove(delivery, agent_id, presence, nowMs)) {
      const excluded = new Set([
        agent_id,
        ...delivery.busy.filter((one) => one.untilMs > nowMs).map((one) => one.agent_id),
      ]);
      const candidate = deps.agentIndex.pick(state.task_tags, excluded);
      if (candidate) return await assign(held, candidate, 'reassign', isGone(presence, nowMs));
    }
    if (!record || record.unregisteredMs !== null)
      return await waitForAnother(held, state, delivery, presence);
    // Its own agent is back: among the waiters it would stand before those that could go to a free agent.
    if (state.waiting) return await commitStep(held, { type: 'stay' }, { dueAt: nowMs });
    if (presence.pull) return await lookAgainAt(held, Math.min(state.deadlineMs, nowMs + UNCLAIMED_MS));
    if (delivery.nextMs !== null && delivery.nextMs > nowMs)
      return await lookAgainAt(held, dueMs(state) ?? nowMs);
    return await pushAgain(held, agent_id, record);
  }

  async function pushAgain(held: LeasedTask, agent_id: string, record: AgentRecord): Promise<CommitResult> {
    if (pushes.adopt(held.request_id, agent_id, held.lease)) {
      const due = [{ ref: taskRef(held.request_id), atMs: 'held' as const, lease: held.lease }];
      return await store.commit({ writes: [], due });
    }
    const nowMs = store.nowMs();
    if (pushes.count() >= deps.pushesMax) return await lookAgainAt(held, nowMs + CROWDED_RETRY_MS);
    const trigger: Trigger = { type: 'attempt', nextMs: nowMs };
    const decided = step(held.before.value, trigger, nowMs);
    if (!decided.ok) return { ok: false, conflict: 'revision' };
    const { request_id, lease } = held;
    const input = askInput(request_id);
    const outcome = await commitStep(held, trigger, { dueAt: 'held' });
    if (outcome.ok) {
      const written = { value: decided.state, revision: outcome.revision };
      pushes.start({ request_id, lease, agent_id, endpoint: record.endpoint, input, written });
    }
    return outcome;
  }

  /** Its agent is unregistered: nobody is pushed to. It is offered again when an agent becomes free or its own is back. */
  async function waitForAnother(
    held: LeasedTask,
    state: TaskState,
    delivery: Delivery,
    presence: AgentAvailability,
  ): Promise<CommitResult> {
    const nowMs = store.nowMs();
    if (mayBeTaken(delivery) && !isGone(presence, nowMs)) {
      return await lookAgainAt(
        held,
        Math.min(state.deadlineMs, (presence.unavailableSinceMs ?? nowMs) + GONE_AFTER_MS),
      );
    }
    const outcome = await commitStep(
      held,
      { type: 'wait' },
      { noneFree: state.task_tags, dueAt: state.deadlineMs },
    );
    if (outcome.ok || outcome.conflict !== 'free_agent') return outcome;
    const refusedLately = delivery.busy.some(
      (one) => one.agent_id === outcome.agent_id && one.untilMs > nowMs,
    );
    return refusedLately ? await lookAgainAt(held, nowMs + REFUSED_RETRY_MS) : outcome;
  }

  return { lookAtTask };
}

function availabilityOf(record: AgentRecord | undefined): AgentAvailability {
  if (!record) return { unavailableSinceMs: 0, pull: false };
  return { unavailableSinceMs: unavailableSinceMs(record), pull: record.endpoint === PULL_ENDPOINT };
}
