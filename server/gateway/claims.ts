/** How a pull agent fetches its tasks: `claimTask`. */
import { PULL_ENDPOINT } from '../domain/agent.ts';
import { HAND_OUT_AGAIN_MS } from '../domain/delivery.ts';
import type { Delivery, TaskInfo, TaskState } from '../domain/task.ts';
import type { Clock } from '../ports/clock.ts';
import { type Gateway, GatewayError } from '../ports/gateway.ts';
import { agentRef, type Store } from '../ports/store.ts';
import { type AssignedTask, acknowledgeNamed, listAssigned } from './assignments.ts';
import type { TaskCommits } from './commit-step.ts';
import type { RegisteredAgents } from './registered-agents.ts';
import { readTask } from './tasks.ts';
import { noteContactWhile } from './waiting-calls.ts';

/** Without a notification, a waiting claim looks no more often than this. */
const LOOK_AGAIN_MS = 250;

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly commits: TaskCommits;
  readonly agents: RegisteredAgents;
};

/** Creates the claim operation. */
export function createClaims(deps: Deps): Pick<Gateway, 'claimTask'> {
  return {
    async claimTask({ agent_id, wait, request_ids }, signal) {
      const { record } = await deps.agents.noteContact(agent_id, { by: 'call' });
      if (record.endpoint !== PULL_ENDPOINT) {
        throw new GatewayError(
          'validation_failed',
          'This agent registered a URL, so tasks are pushed to it. To claim tasks, register with "endpoint": "pull".',
        );
      }
      if (request_ids) await acknowledgeNamed(deps, agent_id, request_ids);
      const task = await claimNow(deps, agent_id);
      if (task || wait === 0) return task;
      return await noteContactWhile(deps, record, signal, () => awaitTask(deps, agent_id, wait, signal));
    },
  };
}

/** Hands out the oldest assignment that is not acknowledged and was not handed out in the last 15 s. */
async function claimNow(deps: Deps, agent_id: string): Promise<TaskInfo | null> {
  const nowMs = deps.store.nowMs();
  for (const assigned of await listAssigned(deps.store, agent_id)) {
    if (!isClaimable(assigned, nowMs)) continue;
    const task = await handOut(deps, agent_id, assigned.request_id);
    if (task) return task;
  }
  return null;
}

function isClaimable(
  { delivery, deadlineMs }: Pick<AssignedTask, 'delivery' | 'deadlineMs'>,
  nowMs: number,
): boolean {
  return !delivery.acknowledged && deadlineMs > nowMs && claimableFromMs(delivery) <= nowMs;
}

function claimableFromMs({ attemptMs }: Delivery): number {
  return attemptMs === null ? 0 : attemptMs + HAND_OUT_AGAIN_MS;
}

/** Counts as an unknown attempt, committed before the task is returned; null when another call was faster. */
async function handOut(deps: Deps, agent_id: string, request_id: string): Promise<TaskInfo | null> {
  const { store, agents, commits } = deps;
  // The agent may have unregistered, or registered a URL, since its call began to wait.
  const agentStatus = await agents.findIfRegistered(agent_id);
  if (agentStatus?.record.endpoint !== PULL_ENDPOINT) return null;
  const before = await store.get('task', request_id);
  const nowMs = store.nowMs();
  if (!before || !isStillClaimable(before.value, agent_id, nowMs)) return null;
  await store.touch(agent_id, { by: 'push', taken: true, status: null, error: null });
  const trigger = { type: 'attempt', nextMs: nowMs + HAND_OUT_AGAIN_MS } as const;
  const result = await commits.commitStep(request_id, before, trigger);
  return result.kind === 'committed' ? ((await readTask(store, request_id)) ?? null) : null;
}

function isStillClaimable(state: TaskState, agent_id: string, nowMs: number): boolean {
  const { delivery, deadlineMs } = state;
  return state.agent_id === agent_id && delivery !== null && isClaimable({ delivery, deadlineMs }, nowMs);
}

/**
 * Looks again when something of the agent changes or a task may be handed out again, until the wait is over.
 */
async function awaitTask(
  deps: Deps,
  agent_id: string,
  wait: number,
  signal: AbortSignal,
): Promise<TaskInfo | null> {
  const { store, clock } = deps;
  const endMs = store.nowMs() + wait * 1_000;
  while (!signal.aborted && store.nowMs() < endMs) {
    const look = new AbortController();
    const either = AbortSignal.any([signal, look.signal]);
    void clock.sleep(await nextLookInMs(deps, agent_id, endMs), either).then(() => look.abort('look'));
    try {
      for await (const _ of store.watch(agentRef(agent_id), either)) {
        const task = await claimNow(deps, agent_id);
        if (task) return task;
      }
    } finally {
      look.abort('look');
    }
    const task = signal.aborted ? null : await claimNow(deps, agent_id);
    if (task) return task;
  }
  return null;
}

/** Until the wait is over, or until a task that was handed out may be handed out again. */
async function nextLookInMs({ store }: Deps, agent_id: string, endMs: number): Promise<number> {
  const nowMs = store.nowMs();
  const times = (await listAssigned(store, agent_id))
    .filter(({ delivery }) => !delivery.acknowledged)
    .map(({ delivery }) => claimableFromMs(delivery));
  // A task that is claimable but was not handed out just now went to another call: look again, but not at
  // once.
  const lookMs = Math.max(nowMs + LOOK_AGAIN_MS, Math.min(endMs, ...times));
  return Math.max(1, Math.min(endMs, lookMs) - nowMs);
}
