/**
 * The dispatcher takes a due task and decides what happens next: expire it, assign it, let it wait, abandon
 * it, push it again or move it. It keeps no state of its own; a task that it does not finish comes due again.
 *
 * Every decision rests on fresh reads, and every commit names the lease of the due entry. So two dispatchers
 * may get in each other's way, but at most one of them succeeds.
 *
 *   pending ── an agent is free ───────────────────────▶ assign.ts
 *           ── none is free, it may wait ──────────────▶ waiting, until an agent gets a free slot
 *           ── none is free, it may not wait ──────────▶ failed (abandon)
 *   running ── not acknowledged ───────────────────────▶ redelivery.ts
 *   any     ── past its deadline ──────────────────────▶ failed (expire)
 */
import { dueMs } from '../../domain/delivery.ts';
import { encodeMatch } from '../../domain/match-record.ts';
import { isSettled, mayWait, type TaskState } from '../../domain/task.ts';
import { ANY_TASK } from '../../domain/task-match.ts';
import { type Lease, taskRef } from '../../ports/store.ts';
import { TRIES_MAX } from '../tasks/commit-step.ts';
import { commitLeased, type LeasedResult, type LeasedTask, rescheduleLeased } from '../tasks/leased-task.ts';
import { type AssignDeps, assignTask, pickAgent } from './assign.ts';
import { continueDelivery } from './redelivery.ts';

export type Dispatcher = {
  /** Does what a due task needs. Throws only what the store throws. */
  lookAtTask(request_id: string, lease: Lease): Promise<void>;
};

export function createDispatcher(deps: AssignDeps): Dispatcher {
  return {
    async lookAtTask(request_id, lease) {
      for (let tries = 0; tries < TRIES_MAX; tries += 1) {
        const before = await deps.store.get('task', request_id);
        if (!before || isSettled(before.value)) {
          await deps.commits.reschedule([{ ref: taskRef(request_id), atMs: null, lease }]);
          return;
        }
        if (!isNewcomer(before.value, deps.store.nowMs())) await deps.keepPace();
        const result = await dispatchTask(deps, { request_id, lease, before });
        if (result.ok || result.conflict === 'lease') return;
        if (result.conflict === 'free_agent') await deps.agentIndex.reload(result.agent_id);
      }
      // After eight conflicts in a row, the entry comes due again when its lease runs out.
    },
  };
}

async function dispatchTask(deps: AssignDeps, task: LeasedTask): Promise<LeasedResult> {
  const state = task.before.value;
  const isLate = state.deadlineMs <= deps.store.nowMs();
  if (isLate && !endsWaitFirst(state)) return await commitLeased(deps, task, { type: 'expire' });
  await deps.agentIndex.whenRefreshed();
  return state.delivery
    ? await continueDelivery(deps, task, state.delivery)
    : await dispatchPending(deps, task, state);
}

/**
 * Finds an agent for a pending task. Without an agent the task waits as long as it may; then it is abandoned.
 * If both its wait and its deadline are over, the earlier of the two decides how it ends. The deadline
 * decides if they are equal, or if an agent is free by now.
 */
async function dispatchPending(deps: AssignDeps, task: LeasedTask, state: TaskState): Promise<LeasedResult> {
  const candidate = pickAgent(deps, state.task_tags);
  const nowMs = deps.store.nowMs();
  const isLate = state.deadlineMs <= nowMs;
  if (isLate && (candidate || !endsWaitFirst(state)))
    return await commitLeased(deps, task, { type: 'expire' });
  if (candidate) return await assignTask(deps, task, candidate, { type: 'assign' });
  const noneFree = state.task_tags;
  if (!mayWait(state, nowMs)) {
    const seen = deps.agentIndex.match(state.task_tags, ANY_TASK, { nowMs, live: false });
    const seenMatch = encodeMatch(seen, state.task_tags);
    return await commitLeased(deps, task, { type: 'abandon' }, { noneFree, seenMatch });
  }
  // The task goes on waiting only if the store confirms that no agent is free.
  if (state.waiting) return await rescheduleLeased(deps, task, dueMs(state) ?? nowMs, noneFree);
  return await commitLeased(deps, task, { type: 'wait' }, { noneFree });
}

/**
 * Whether a task is looked at for the first time. New tasks of one tick share the look at the waiting tasks.
 */
function isNewcomer({ status, waiting, deadlineMs }: TaskState, nowMs: number): boolean {
  return status === 'pending' && !waiting && deadlineMs > nowMs;
}

/** Whether the task's wait ends before its deadline. A task that may not wait counts. */
function endsWaitFirst({ status, queueEndMs, deadlineMs }: TaskState): boolean {
  return status === 'pending' && (queueEndMs === null || queueEndMs < deadlineMs);
}
