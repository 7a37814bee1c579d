/**
 * Delivers a running task until its agent acknowledges it: moves it to another agent, pushes it again, or
 * leaves it for later. The rules are in `domain/delivery.ts`; the state table is in `domain/step.ts`.
 *
 * A task that wants to move waits while no other agent is eligible. It is offered to each agent that gets a
 * free slot; meanwhile its own agent is tried again at the usual pauses.
 *
 *   wants to move ── another is free ──▶ reassigned
 *                 ── none is free ─────▶ waiting ── looked at again at once, then as usual
 *   does not      ── was waiting ──────▶ not waiting any more
 *   its agent     ── unregistered, or replied 410 ──▶ not pushed to
 *                 ── pull ─────────────▶ its claims hand the task out
 *                 ── else ─────────────▶ pushed to when the pause is over
 *
 * For example, the only agent responds 503. After this outcome come three looks, each with one commit:
 *
 *   0 s    the push's outcome is committed: busy, next attempt in about 1 s; due now, as it may move
 *   0 s    it wants to move, no other agent is free: committed as waiting, due now
 *   0 s    no other agent, and the pause is not over: its due entry is set to 1 s
 *   1 s    no other agent, and the pause is over: the attempt is committed, and pushed to the same agent
 */
import { type AgentRecord, PULL_ENDPOINT } from '../../domain/agent.ts';
import {
  availabilityOf,
  dueMs,
  endOfRestMs,
  excludedAgents,
  GONE_AFTER_MS,
  isGone,
  isUnclaimed,
  UNCLAIMED_MS,
  wantsToMove,
} from '../../domain/delivery.ts';
import { type Delivery, mayBeTaken, type TaskState } from '../../domain/task.ts';
import { commitLeased, type LeasedResult, type LeasedTask, rescheduleLeased } from '../tasks/leased-task.ts';
import {
  type AssignDeps,
  assignTask,
  commitAndPush,
  isPushLimitReached,
  pickAgent,
  retryLater,
} from './assign.ts';

/** A task whose agent replied 410 is looked at this often, in case the agent's return was missed. */
const LOOK_FOR_RETURN_MS = 30_000;

/** Decides what a due delivery needs, and does it. */
export async function continueDelivery(
  deps: AssignDeps,
  task: LeasedTask,
  delivery: Delivery,
): Promise<LeasedResult> {
  const state = task.before.value;
  const nowMs = deps.store.nowMs();
  const agent_id = state.agent_id ?? '';
  if (delivery.acknowledged) return await rescheduleLeased(deps, task, state.deadlineMs);
  const record = (await deps.store.getAgentStatus(agent_id))?.record;
  const agent = availabilityOf(record, deps.sweepTimes.resumedMs(nowMs));
  if (agent.pull && isUnclaimed(delivery, nowMs)) await noteUnclaimed(deps, agent_id);
  if (wantsToMove(delivery, agent_id, agent, nowMs)) {
    const candidate = pickAgent(deps, state.task_tags, excludedAgents(delivery, agent_id, nowMs));
    const agentGone = isGone(agent, nowMs);
    if (candidate) return await assignTask(deps, task, candidate, { type: 'reassign', agentGone });
    // An agent that got a free slot before this commit was not offered the task, so the task is due at once.
    if (!state.waiting) return await commitLeased(deps, task, { type: 'wait' }, { dueAt: nowMs });
  } else if (state.waiting) return await commitLeased(deps, task, { type: 'stay' }, { dueAt: nowMs });
  return await tryOwnAgent(deps, task, delivery, record);
}

/** Tries the task's present agent again, or sets when to try. */
async function tryOwnAgent(
  deps: AssignDeps,
  task: LeasedTask,
  delivery: Delivery,
  record: AgentRecord | undefined,
): Promise<LeasedResult> {
  const state: TaskState = task.before.value;
  const nowMs = deps.store.nowMs();
  // A task is not offered to an agent that was busy for it lately. So the task itself is due when that pause
  // ends.
  const restMs = state.waiting
    ? endOfRestMs(delivery, state.agent_id ?? '', nowMs)
    : Number.POSITIVE_INFINITY;
  const lookAt = (ms: number): Promise<LeasedResult> =>
    rescheduleLeased(deps, task, Math.min(state.deadlineMs, restMs, ms));
  if (!record || record.unregisteredMs !== null || record.left) {
    return await lookAt(nextLookWithoutPushMs(deps, delivery, record));
  }
  if (record.endpoint === PULL_ENDPOINT) {
    if (!delivery.pull) return await commitLeased(deps, task, { type: 'fetch' }, { dueAt: nowMs });
    return await lookAt(nowMs + UNCLAIMED_MS);
  }
  if (delivery.nextMs !== null && delivery.nextMs > nowMs) return await lookAt(dueMs(state) ?? nowMs);
  return await pushAgain(deps, task, record);
}

/**
 * When to look at a task whose agent gets no pushes. A task that the agent may have is looked at once the
 * agent is gone.
 */
function nextLookWithoutPushMs(
  { store, sweepTimes }: AssignDeps,
  delivery: Delivery,
  record: AgentRecord | undefined,
): number {
  const nowMs = store.nowMs();
  const agent = availabilityOf(record, sweepTimes.resumedMs(nowMs));
  const goneMs = (agent.unavailableSinceMs ?? nowMs) + GONE_AFTER_MS;
  const isGoneNext = mayBeTaken(delivery) && !isGone(agent, nowMs);
  const returnMs = record?.left ? nowMs + LOOK_FOR_RETURN_MS : Number.POSITIVE_INFINITY;
  return Math.min(returnMs, isGoneNext ? goneMs : Number.POSITIVE_INFINITY);
}

/**
 * Notes an unclaimed task like a push that was not taken, so that the agent ranks last until it claims.
 * Otherwise a dead agent would be picked again and again.
 */
async function noteUnclaimed({ store }: AssignDeps, agent_id: string): Promise<void> {
  const error = `nothing was claimed for ${UNCLAIMED_MS / 1_000} s`;
  await store.touch(agent_id, { by: 'push', taken: false, status: null, error });
}

async function pushAgain(deps: AssignDeps, task: LeasedTask, record: AgentRecord): Promise<LeasedResult> {
  if (deps.pushes.adopt(task.request_id, record.agent_id, task.lease))
    return await rescheduleLeased(deps, task, 'held');
  if (isPushLimitReached(deps, record.endpoint)) return await retryLater(deps, task);
  const trigger = { type: 'attempt', pull: false, nextMs: deps.store.nowMs() } as const;
  return await commitAndPush(deps, task, trigger, record);
}

/**
 * Whether a task with an open push may move now: its agent is gone, and another agent is eligible. While
 * there is no other agent, the connection stays open, because a late response counts.
 */
export function mayLeaveOpenPush(
  { agentIndex, sweepTimes }: Pick<AssignDeps, 'agentIndex' | 'sweepTimes'>,
  { agent_id, delivery, task_tags }: TaskState,
  nowMs: number,
): boolean {
  if (agent_id === null || !delivery) return false;
  const agent = availabilityOf(agentIndex.find(agent_id), sweepTimes.resumedMs(nowMs));
  if (!isGone(agent, nowMs)) return false;
  return agentIndex.pick(task_tags, excludedAgents(delivery, agent_id, nowMs)) !== undefined;
}
