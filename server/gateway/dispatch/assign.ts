/**
 * Assigning a task to an agent, and starting a push: slot, status and agent commit together, then the push
 * starts. `assignTask()` is for a task that came due; `commitAssignment()` also for the commit that submits
 * one, in `calls/submit-task.ts`.
 *
 * Waiting tasks are not overtaken: if one may take the slot, the slot is left to it. For example, a task
 * submitted now does not get the slot when another one has waited for it for a minute. A task that may wait
 * waits behind them; one that may not is looked at again a moment later. The agent is looked at now: what
 * waits is offered to it.
 *
 *   the task waits itself ────────────────────────────────────▶ assigned: it was offered the slot
 *   no task waits for this agent, or none that it may take ───▶ assigned
 *   one waits that it may take ───────────────────────────────▶ gives way; the offer runs first
 */
import type { KeepPace } from '../../async/pace.ts';
import type { SharedReads } from '../../async/shared-reads.ts';
import { type AgentRecord, PULL_ENDPOINT } from '../../domain/agent.ts';
import { UNCLAIMED_MS } from '../../domain/delivery.ts';
import type { Candidate } from '../../domain/match.ts';
import { mayWait } from '../../domain/task.ts';
import type { Trigger } from '../../domain/triggers.ts';
import { agentRef, type Store, taskRef } from '../../ports/store.ts';
import type { Tracing } from '../../ports/tracing.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';
import type { Pushes } from '../pushing/pushes.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { commitLeased, type LeasedResult, type LeasedTask, rescheduleLeased } from '../tasks/leased-task.ts';
import type { CommitOptions } from '../tasks/task-batch.ts';
import { runTaskHop } from '../tasks/task-traces.ts';
import type { SweepTimes } from './sweep-times.ts';
import { hasWaitingFor } from './waiting-offers.ts';

export type AssignDeps = {
  readonly store: Store;
  readonly commits: TaskCommits;
  readonly agentIndex: AgentIndex;
  readonly pushes: Pushes;
  readonly sweepTimes: SweepTimes;
  readonly tracing: Tracing;
  /** By agent: whether a task waits that it may take. */
  readonly waitingLooks: SharedReads<boolean>;
  readonly keepPace: KeepPace;
};

/** A task that gives way is looked at again after this. */
const GIVE_WAY_MS = 50;

/** Why a task is assigned. `agentGone`: its present agent is gone, so it may move. */
type Assigning = { readonly type: 'assign' } | { readonly type: 'reassign'; readonly agentGone: boolean };

/** Assigns the task, or moves it to another agent. */
export async function assignTask(
  deps: AssignDeps,
  task: LeasedTask,
  { record }: Candidate,
  how: Assigning,
): Promise<LeasedResult> {
  const { agent_id } = record;
  return await runTaskHop(deps, {
    hop: 'match',
    request_id: task.request_id,
    work: () => assignUnlessOvertaking(deps, task, record, how),
    describe: (result) => (result.ok && result.written ? { agent_id } : {}),
  });
}

/** Assigns it unless one that waits may take the slot. */
async function assignUnlessOvertaking(
  deps: AssignDeps,
  task: LeasedTask,
  record: AgentRecord,
  how: Assigning,
): Promise<LeasedResult> {
  const { agent_id, agent_tags } = record;
  const result = await grantSlot(deps, record, async (to) => {
    const commit = (options: CommitOptions): Promise<LeasedResult> =>
      commitAssignment(deps, task, { ...how, ...to }, record, options);
    const mayOvertake = task.before.value.waiting;
    const granted = await commit(mayOvertake ? {} : { noneWaiting: agent_tags });
    if (granted.ok || granted.conflict !== 'waiting') return granted;
    return (await hasWaitingFor(deps, record)) ? await giveWay(deps, task, agent_id) : await commit({});
  });
  return result ?? (await retryLater(deps, task));
}

/** Leaves the agent to the tasks that wait for it; the task waits behind them, or for a moment. */
async function giveWay(deps: AssignDeps, task: LeasedTask, agent_id: string): Promise<LeasedResult> {
  const { request_id, lease, before } = task;
  const nowMs = deps.store.nowMs();
  // Also where another look is under way, which may have listed the waiting tasks before this one.
  const lookAtAgent = { ref: agentRef(agent_id), atMs: nowMs };
  if (mayWait(before.value, nowMs)) {
    const waits = await commitLeased(deps, task, { type: 'wait' });
    // Without what was written: no slot was granted.
    return waits.ok ? await deps.commits.reschedule([lookAtAgent]) : waits;
  }
  const againMs = Math.min(before.value.deadlineMs, nowMs + GIVE_WAY_MS);
  return await deps.commits.reschedule([{ ref: taskRef(request_id), atMs: againMs, lease }, lookAtAgent]);
}

/** The part of the trigger that says to which agent a task is assigned, and when its delivery is due next. */
type AssignedTo = { readonly agent_id: string; readonly attempted: boolean; readonly nextMs: number };

/**
 * Counts the slot in the index while it is being granted. Undefined when no further push to this agent may
 * start now.
 */
export async function grantSlot(
  deps: AssignDeps,
  { agent_id, endpoint }: AgentRecord,
  grant: (to: AssignedTo) => Promise<LeasedResult>,
): Promise<LeasedResult | undefined> {
  const isPull = endpoint === PULL_ENDPOINT;
  if (!isPull && isPushLimitReached(deps, endpoint)) return undefined;
  const nowMs = deps.store.nowMs();
  deps.agentIndex.noteGrant(agent_id, nowMs);
  try {
    const nextMs = isPull ? nowMs + UNCLAIMED_MS : nowMs;
    const result = await grant({ agent_id, attempted: !isPull, nextMs });
    if (!result.ok || !result.written) await deps.agentIndex.reload(agent_id);
    return result;
  } catch (error) {
    // If it was granted all the same, the agent has changed, and the index will read that.
    deps.agentIndex.noteRelease(agent_id);
    throw error;
  }
}

/** Commits the assignment to the agent of this record. If it is pushed to, its push starts. */
export function commitAssignment(
  deps: AssignDeps,
  task: LeasedTask,
  trigger: Assigning & AssignedTo,
  to: AgentRecord,
  options: CommitOptions,
): Promise<LeasedResult> {
  if (trigger.attempted) return commitAndPush(deps, task, trigger, to, options);
  return commitLeased(deps, task, trigger, { ...options, registration: to.registration });
}

/**
 * Commits a step that starts a push to the agent of this record, then starts the push with exactly the
 * written state. When the agent has registered again since, nothing is committed.
 */
export async function commitAndPush(
  deps: AssignDeps,
  task: LeasedTask,
  trigger: Trigger,
  { agent_id, endpoint, registration }: AgentRecord,
  options: CommitOptions = {},
): Promise<LeasedResult> {
  const { request_id, lease } = task;
  const result = await commitLeased(deps, task, trigger, { ...options, registration, dueAt: 'held' });
  if (result.ok && result.written) {
    const attempt = { request_id, lease, agent_id, endpoint, registration, written: result.written };
    deps.pushes.start(attempt, options.submission?.input);
  }
  return result;
}

/**
 * The best free agent for a task. One that may not be pushed to now, because too many pushes to its origin
 * are under way, comes behind every other.
 */
export function pickAgent(
  deps: AssignDeps,
  tags: readonly string[],
  excluded?: ReadonlySet<string>,
): Candidate | undefined {
  return deps.agentIndex.pick(
    tags,
    excluded,
    ({ endpoint }) => endpoint === PULL_ENDPOINT || !isPushLimitReached(deps, endpoint),
  );
}

/** Whether no further push to this endpoint may start now. */
export function isPushLimitReached({ pushes }: AssignDeps, endpoint: string): boolean {
  return !pushes.mayOpenConnection(endpoint);
}

/** Leaves the task for a little later, when fewer pushes may be under way. */
export async function retryLater(deps: AssignDeps, task: LeasedTask): Promise<LeasedResult> {
  const { deadlineMs } = task.before.value;
  return await rescheduleLeased(deps, task, Math.min(deadlineMs, deps.pushes.nextRetryMs()));
}
