/**
 * Assigns a task to an agent and starts its push: slot, status and agent commit together, then the push
 * starts. `assignTask()` is for a task that came due. `commitAssignment()` also serves the commit that
 * submits a task (`calls/submit-task.ts`).
 *
 * A new task does not overtake waiting tasks: if a waiting task may take the slot, the new task gives way.
 * For example, a task submitted now does not get a slot that another task has waited for. If the new task may
 * wait, it waits behind the others; if not, it is looked at again a moment later. The agent is looked at now,
 * so that its slot is offered to the waiting tasks.
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
  /** Shared looks, by agent: does a task wait that the agent may take? */
  readonly waitingLooks: SharedReads<boolean>;
  readonly keepPace: KeepPace;
};

/** After this long a task that gave way is looked at again. */
const GIVE_WAY_MS = 50;

/** Why a task is assigned. `agentGone`: its present agent is gone, so the task may move. */
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

/** Assigns the task, unless a waiting task may take the slot. */
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

/** Leaves the agent to its waiting tasks. The new task waits behind them, or is looked at a moment later. */
async function giveWay(deps: AssignDeps, task: LeasedTask, agent_id: string): Promise<LeasedResult> {
  const { request_id, lease, before } = task;
  const nowMs = deps.store.nowMs();
  // The agent is looked at even if a look is under way: that look may not see the latest waiting tasks.
  const lookAtAgent = { ref: agentRef(agent_id), atMs: nowMs };
  if (mayWait(before.value, nowMs)) {
    const waits = await commitLeased(deps, task, { type: 'wait' });
    // Returns a result without `written`, because no slot was granted.
    return waits.ok ? await deps.commits.reschedule([lookAtAgent]) : waits;
  }
  const againMs = Math.min(before.value.deadlineMs, nowMs + GIVE_WAY_MS);
  return await deps.commits.reschedule([{ ref: taskRef(request_id), atMs: againMs, lease }, lookAtAgent]);
}

/** The fields of a trigger that name the agent, and say when the delivery is due next. */
type AssignedTo = { readonly agent_id: string; readonly attempted: boolean; readonly nextMs: number };

/**
 * Counts the slot in the index while it is being granted. Resolves with undefined if no further push to this
 * agent may start now.
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
    // If the slot was granted in spite of the error, the agent has changed and the index reads it again.
    deps.agentIndex.noteRelease(agent_id);
    throw error;
  }
}

/** Commits the assignment to the agent of this record. Unless the agent is a pull agent, its push starts. */
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
 * Commits a step that allows a push, then starts the push with exactly the written state. If the agent has
 * registered again since its record was read, nothing is committed.
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

/** Picks the best free agent for a task. Agents to whose origin too many pushes are under way come last. */
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

/** Whether one more push to this endpoint would be too many. */
export function isPushLimitReached({ pushes }: AssignDeps, endpoint: string): boolean {
  return !pushes.mayOpenConnection(endpoint);
}

/** Leaves the task for a little later, when fewer pushes may be under way. */
export async function retryLater(deps: AssignDeps, task: LeasedTask): Promise<LeasedResult> {
  const { deadlineMs } = task.before.value;
  return await rescheduleLeased(deps, task, Math.min(deadlineMs, deps.pushes.nextRetryMs()));
}
