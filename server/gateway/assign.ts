/**
 * Assigning a task to an agent, and starting a push: slot, status and agent commit together, then the push
 * starts.
 */
import { PULL_ENDPOINT } from '../domain/agent.ts';
import { UNCLAIMED_MS } from '../domain/delivery.ts';
import type { Candidate } from '../domain/match.ts';
import type { TaskInput } from '../domain/task.ts';
import type { Trigger } from '../domain/triggers.ts';
import type { Store, Stored } from '../ports/store.ts';
import type { AgentIndex } from './agent-index.ts';
import type { TaskCommits } from './commit-step.ts';
import { commitLeased, type LeasedResult, type LeasedTask, rescheduleLeased } from './leased-task.ts';
import type { Pushes } from './pushes.ts';

export type AssignDeps = {
  readonly store: Store;
  readonly commits: TaskCommits;
  readonly agentIndex: AgentIndex;
  readonly pushes: Pushes;
  /** Pushes under way at once; beyond that a due task is looked at again a little later. */
  readonly pushesMax: number;
};

/** When the number of pushes is at its limit, the task is looked at again after this. */
const BUSY_RETRY_MS = 250;

/** Assigns the task, or moves it to another agent. `agentGone`: its present agent is gone, so it may move. */
export async function assignTask(
  deps: AssignDeps,
  task: LeasedTask,
  { record }: Candidate,
  how: { readonly type: 'assign' } | { readonly type: 'reassign'; readonly agentGone: boolean },
): Promise<LeasedResult> {
  const { agent_id, endpoint, registration } = record;
  const isPull = endpoint === PULL_ENDPOINT;
  if (!isPull && isPushLimitReached(deps)) return await retryLater(deps, task);
  const nowMs = deps.store.nowMs();
  deps.agentIndex.noteGrant(agent_id, nowMs);
  const nextMs = isPull ? nowMs + UNCLAIMED_MS : nowMs;
  const trigger: Trigger = { ...how, agent_id, attempted: !isPull, nextMs };
  const result = isPull
    ? await commitLeased(deps, task, trigger, { registration })
    : await commitAndPush(deps, task, trigger, { agent_id, endpoint }, registration);
  if (!result.ok) await deps.agentIndex.reload(agent_id);
  return result;
}

/** Commits a step that starts a push, then starts the push with exactly the state that was written. */
export async function commitAndPush(
  deps: AssignDeps,
  task: LeasedTask,
  trigger: Trigger,
  to: { readonly agent_id: string; readonly endpoint: string },
  registration?: string,
): Promise<LeasedResult> {
  const { request_id, lease } = task;
  const input = readInput(deps.store, request_id);
  const options = { dueAt: 'held' as const, ...(registration !== undefined && { registration }) };
  const result = await commitLeased(deps, task, trigger, options);
  if (result.ok && result.written) {
    deps.pushes.start({ request_id, lease, ...to, input, written: result.written });
  }
  return result;
}

/** Whether no further push may start now. */
export function isPushLimitReached({ pushes, pushesMax }: AssignDeps): boolean {
  return pushes.count() >= pushesMax;
}

/** Leaves the task for a little later, when fewer pushes are under way. */
export async function retryLater(deps: AssignDeps, task: LeasedTask): Promise<LeasedResult> {
  return await rescheduleLeased(deps, task, deps.store.nowMs() + BUSY_RETRY_MS);
}

/** Reads the input beside the commit, so that the push waits for neither longer than for the other. */
function readInput(store: Store, request_id: string): Promise<Stored<TaskInput> | undefined> {
  const input = store.get('input', request_id);
  // If the commit fails, nothing awaits this read.
  input.catch(() => undefined);
  return input;
}
