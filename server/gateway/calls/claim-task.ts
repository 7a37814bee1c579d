/** `claimTask`: a pull agent fetches its tasks. The waiting itself is in `claim-queue.ts`. */
import { agentState, PULL_ENDPOINT } from '../../domain/agent.ts';
import { claimableFromMs, HAND_OUT_AGAIN_MS } from '../../domain/delivery.ts';
import { describeTask } from '../../domain/task.ts';
import type { Clock } from '../../ports/clock.ts';
import { type Gateway, GatewayError } from '../../ports/gateway.ts';
import type { Store } from '../../ports/store.ts';
import { acknowledgeNamed } from '../agents/assignments.ts';
import type { RegisteredAgents } from '../agents/registered-agents.ts';
import { limitTime } from '../deadline.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { readTask, unlessDamaged } from '../tasks/read-task.ts';
import { type Claimed, type ClaimedTask, createClaimQueues, type HandedOut } from './claim-queue.ts';
import { noteContactWhile } from './waiting-contact.ts';

/** How many tasks of one agent are handed out side by side. */
const HAND_OUTS_AT_ONCE = 16;
/** If each claimable task changed before it could be handed out, the next look comes after this long. */
const LOOK_AGAIN_MS = 250;

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly commits: TaskCommits;
  readonly agents: RegisteredAgents;
};

/** Creates the operation. A claim that does not wait has the time limit of any call. */
export function createClaimTask(deps: Deps): Pick<Gateway, 'claimTask'> {
  const { claimTask } = createUnlimitedClaim(deps);
  const atOnce = limitTime(deps.clock, { claimTask });
  return {
    claimTask: (claim, ...rest) => (claim.wait === 0 ? atOnce : { claimTask }).claimTask(claim, ...rest),
  };
}

function createUnlimitedClaim(deps: Deps): Pick<Gateway, 'claimTask'> {
  const queues = createClaimQueues({ ...deps, handOut: (agent_id, count) => handOut(deps, agent_id, count) });
  return {
    async claimTask({ agent_id, wait, request_ids }, signal, onFound) {
      const record = await deps.agents.noteContact(agent_id, { by: 'call' });
      if (record.endpoint !== PULL_ENDPOINT) {
        throw new GatewayError(
          'validation_failed',
          'must be an agent that registered with "endpoint": "pull"; this one registered a URL, so tasks are pushed to it',
          '/agent_id',
        );
      }
      if (request_ids) await acknowledgeNamed(deps, record, request_ids);
      const claim = (): Promise<Claimed | null> => queues.claim(agent_id, wait * 1_000, signal);
      const claimed = await (wait === 0 ? claim() : noteContactWhile(deps, record, signal, claim));
      if (!claimed) return null;
      const { task, state } = claimed;
      onFound?.({ state, ...(task?.trace && { trace: task.trace }) });
      return task?.task ?? null;
    },
  };
}

/**
 * Hands out the agent's oldest unacknowledged tasks, except those handed out in the last 15 s. For example,
 * when an agent dies after its claim, its next claim gets the task again 15 s after the first. The cost grows
 * neither with the agent's tasks nor with its waiting claims.
 */
async function handOut(deps: Deps, agent_id: string, count: number): Promise<HandedOut> {
  const { store, agents } = deps;
  // The agent may have unregistered, or registered a URL, since its claims began to wait.
  const agentStatus = await agents.findIfRegistered(agent_id);
  const state = agentStatus ? agentState(agentStatus.record, agentStatus.slots) : 'offline';
  if (agentStatus?.record.endpoint !== PULL_ENDPOINT) return { tasks: [], state, nextLookMs: null };
  const found = await store.listClaimable(agent_id, Math.min(count, HAND_OUTS_AT_ONCE));
  if (found.request_ids.length === 0) return { tasks: [], state, nextLookMs: found.nextMs };
  await store.touch(agent_id, { by: 'push', taken: true, status: null, error: null });
  const results = await Promise.all(found.request_ids.map((id) => handOutTask(deps, agent_id, id)));
  const tasks = results.filter((task) => task !== null);
  return { tasks, state, nextLookMs: store.nowMs() + (tasks.length > 0 ? 0 : LOOK_AGAIN_MS) };
}

/** Commits an unknown attempt, then returns the task. Returns null if another call changed the task first. */
async function handOutTask(deps: Deps, agent_id: string, request_id: string): Promise<ClaimedTask | null> {
  const { store, commits } = deps;
  const before = await store.get('task', request_id);
  const nowMs = store.nowMs();
  if (!before || before.value.agent_id !== agent_id || before.value.deadlineMs <= nowMs) return null;
  const fromMs = claimableFromMs(before.value);
  if (fromMs === null || fromMs > nowMs) return null;
  // The read runs beside the commit, so that the response waits only for the slower of both.
  const reading = store.get('input', request_id);
  reading.catch(() => undefined);
  const trigger = { type: 'attempt', pull: true, nextMs: nowMs + HAND_OUT_AGAIN_MS } as const;
  const result = await commits.commitStep(request_id, before, trigger);
  if (result.kind !== 'committed') return null;
  // A damaged task is left out, so that the agent gets its other tasks. It is tried again after 15 s.
  const input = await unlessDamaged(reading);
  if (input) return { task: describeTask(input.value, result.written.value), trace: input.value.trace };
  const found = await unlessDamaged(readTask(store, request_id));
  return found ? { task: found.task, trace: undefined } : null;
}
