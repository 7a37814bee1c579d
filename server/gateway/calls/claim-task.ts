/** How a pull agent fetches its tasks: `claimTask`. The waiting itself is `claim-queue.ts`. */
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

/** So many tasks of one agent are handed out at the same time. */
const HAND_OUTS_AT_ONCE = 16;
/** When no claimable task could be handed out, because each just changed, the next look comes after this. */
const LOOK_AGAIN_MS = 250;

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly commits: TaskCommits;
  readonly agents: RegisteredAgents;
};

/** Creates the claim operation. A claim that does not wait takes no longer than any call. */
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
 * Hands out the oldest assignments, if the agent has not acknowledged them and no claim handed them out in
 * the last 15 s. For example, when an agent dies after its claim, its next claim gets the task again 15 s
 * after the first. Costs the same however many tasks the agent holds and however many claims wait.
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

/** Counts as an unknown attempt, committed before the task is returned; null when another call was faster. */
async function handOutTask(deps: Deps, agent_id: string, request_id: string): Promise<ClaimedTask | null> {
  const { store, commits } = deps;
  const before = await store.get('task', request_id);
  const nowMs = store.nowMs();
  if (!before || before.value.agent_id !== agent_id || before.value.deadlineMs <= nowMs) return null;
  const fromMs = claimableFromMs(before.value);
  if (fromMs === null || fromMs > nowMs) return null;
  // Read beside the commit, so that the response waits for neither longer than for the other.
  const reading = store.get('input', request_id);
  reading.catch(() => undefined);
  const trigger = { type: 'attempt', pull: true, nextMs: nowMs + HAND_OUT_AGAIN_MS } as const;
  const result = await commits.commitStep(request_id, before, trigger);
  if (result.kind !== 'committed') return null;
  // One that is damaged keeps no other from its agent. It is looked at again as if its claim had got lost.
  const input = await unlessDamaged(reading);
  if (input) return { task: describeTask(input.value, result.written.value), trace: input.value.trace };
  const found = await unlessDamaged(readTask(store, request_id));
  return found ? { task: found.task, trace: undefined } : null;
}
