/**
 * The delivery of a running task that is not acknowledged: moved to another agent, pushed again, or left for
 * later. The rules are `domain/delivery.ts`; the state table is `domain/step.ts`.
 */
import { type AgentRecord, PULL_ENDPOINT, unavailableSinceMs } from '../domain/agent.ts';
import {
  type AgentAvailability,
  GONE_AFTER_MS,
  isGone,
  UNCLAIMED_MS,
  wantsToMove,
} from '../domain/delivery.ts';
import { type Delivery, dueMs, mayBeTaken, type TaskState } from '../domain/task.ts';
import { type AssignDeps, assignTask, commitAndPush, isPushLimitReached, retryLater } from './assign.ts';
import { commitLeased, type LeasedResult, type LeasedTask, rescheduleLeased } from './leased-task.ts';

/** When the only free agent refused this very task lately, the task is looked at again after this. */
const REFUSED_RETRY_MS = 1_000;

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
  const agent = availabilityOf(record);
  if (agent.pull && !mayBeTaken(delivery) && nowMs - delivery.assignedMs >= UNCLAIMED_MS) {
    await noteUnclaimed(deps, agent_id);
  }
  if (wantsToMove(delivery, agent_id, agent, nowMs)) {
    const candidate = deps.agentIndex.pick(state.task_tags, excludedAgents(delivery, agent_id, nowMs));
    const agentGone = isGone(agent, nowMs);
    if (candidate) return await assignTask(deps, task, candidate, { type: 'reassign', agentGone });
  }
  if (!record || record.unregisteredMs !== null) return await waitForAnother(deps, task, delivery, agent);
  // Its own agent is back. Among the waiting tasks it would stand before those that could go to a free agent.
  if (state.waiting) return await commitLeased(deps, task, { type: 'stay' }, { dueAt: nowMs });
  if (agent.pull) return await rescheduleLeased(deps, task, Math.min(state.deadlineMs, nowMs + UNCLAIMED_MS));
  if (delivery.nextMs !== null && delivery.nextMs > nowMs)
    return await rescheduleLeased(deps, task, dueMs(state) ?? nowMs);
  return await pushAgain(deps, task, agent_id, record);
}

/**
 * Counts as a push that was not taken: until the agent claims, it ranks last, or a dead one would be picked
 * each time.
 */
async function noteUnclaimed({ store }: AssignDeps, agent_id: string): Promise<void> {
  const error = `nothing was claimed for ${UNCLAIMED_MS / 1_000} s`;
  await store.touch(agent_id, { by: 'push', taken: false, status: null, error });
}

function excludedAgents({ busy }: Delivery, agent_id: string, nowMs: number): ReadonlySet<string> {
  return new Set([agent_id, ...busy.filter(({ untilMs }) => untilMs > nowMs).map((agent) => agent.agent_id)]);
}

async function pushAgain(
  deps: AssignDeps,
  task: LeasedTask,
  agent_id: string,
  { endpoint }: AgentRecord,
): Promise<LeasedResult> {
  if (deps.pushes.adopt(task.request_id, agent_id, task.lease))
    return await rescheduleLeased(deps, task, 'held');
  if (isPushLimitReached(deps, endpoint)) return await retryLater(deps, task);
  const trigger = { type: 'attempt', nextMs: deps.store.nowMs() } as const;
  return await commitAndPush(deps, task, trigger, { agent_id, endpoint });
}

/**
 * The task's agent is unregistered, so no agent is pushed to. The task is offered again when another agent
 * gets a free slot or its own registers again.
 */
async function waitForAnother(
  deps: AssignDeps,
  task: LeasedTask,
  delivery: Delivery,
  agent: AgentAvailability,
): Promise<LeasedResult> {
  const state: TaskState = task.before.value;
  const nowMs = deps.store.nowMs();
  if (mayBeTaken(delivery) && !isGone(agent, nowMs)) {
    const goneMs = (agent.unavailableSinceMs ?? nowMs) + GONE_AFTER_MS;
    return await rescheduleLeased(deps, task, Math.min(state.deadlineMs, goneMs));
  }
  const options = { noneFree: state.task_tags, dueAt: state.deadlineMs };
  const result = await commitLeased(deps, task, { type: 'wait' }, options);
  if (result.ok || result.conflict !== 'free_agent') return result;
  const isExcluded = excludedAgents(delivery, '', nowMs).has(result.agent_id);
  return isExcluded ? await rescheduleLeased(deps, task, nowMs + REFUSED_RETRY_MS) : result;
}

function availabilityOf(record: AgentRecord | undefined): AgentAvailability {
  if (!record) return { unavailableSinceMs: 0, pull: false };
  return { unavailableSinceMs: unavailableSinceMs(record), pull: record.endpoint === PULL_ENDPOINT };
}
