/** How an agent without an inbound port fetches its tasks: `claimTask`. */
import { PULL_ENDPOINT } from '../domain/agent.ts';
import { HAND_OUT_AGAIN_MS } from '../domain/delivery.ts';
import { step } from '../domain/step.ts';
import type { TaskInfo, TaskState } from '../domain/task.ts';
import type { Clock } from '../ports/clock.ts';
import { type Gateway, GatewayError } from '../ports/gateway.ts';
import type { Store } from '../ports/store.ts';
import { type AssignedTask, acknowledgeNamed, listAssigned } from './assignments.ts';
import { agentRef, batchFor, type Transitions } from './commit-step.ts';
import type { RegisteredAgents } from './registered-agents.ts';
import { readTask } from './tasks.ts';

/** A waiting claim looks at most so often without a hint. */
const LOOK_AGAIN_MS = 250;

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly transitions: Transitions;
  readonly contacts: RegisteredAgents;
};

/** Creates the claim operation. */
export function createClaims(deps: Deps): Pick<Gateway, 'claimTask'> {
  return {
    async claimTask({ agent_id, wait, request_ids }, signal) {
      const { record } = await deps.contacts.noteContact(agent_id, { by: 'call' });
      if (record.endpoint !== PULL_ENDPOINT) {
        throw new GatewayError(
          'validation_failed',
          'This agent registered a URL and is pushed its tasks. To claim them, register with "endpoint": "pull".',
        );
      }
      if (request_ids) await acknowledgeNamed(deps, agent_id, request_ids);
      return (
        (await claimNow(deps, agent_id)) ?? (wait > 0 ? await awaitTask(deps, agent_id, wait, signal) : null)
      );
    },
  };
}

/** Hands out the oldest assignment that is neither acknowledged nor was handed out in the last 15 s. */
async function claimNow(deps: Deps, agent_id: string): Promise<TaskInfo | null> {
  const nowMs = deps.store.nowMs();
  for (const held of await listAssigned(deps.store, agent_id)) {
    if (!isClaimable(held, nowMs)) continue;
    const task = await handOut(deps, agent_id, held.request_id);
    if (task) return task;
  }
  return null;
}

function isClaimable(
  { delivery, deadlineMs }: Pick<AssignedTask, 'delivery' | 'deadlineMs'>,
  nowMs: number,
): boolean {
  return !delivery.acknowledged && deadlineMs > nowMs && handOutMs(delivery) <= nowMs;
}

function handOutMs(delivery: AssignedTask['delivery']): number {
  return delivery.attemptMs === null ? 0 : delivery.attemptMs + HAND_OUT_AGAIN_MS;
}

/** Counts as an unknown attempt, committed before the task is shown; null when another call was faster. */
async function handOut(deps: Deps, agent_id: string, request_id: string): Promise<TaskInfo | null> {
  const { store } = deps;
  // It may have unregistered, or registered a URL, since its call began to wait.
  const agentStatus = await deps.contacts.findIfRegistered(agent_id);
  if (agentStatus?.record.endpoint !== PULL_ENDPOINT) return null;
  const before = await store.get('task', request_id);
  const nowMs = store.nowMs();
  if (!before || !isStillClaimable(before.value, agent_id, nowMs)) return null;
  const trigger = { type: 'attempt', nextMs: nowMs + HAND_OUT_AGAIN_MS } as const;
  const decided = step(before.value, trigger, nowMs);
  if (!decided.ok) return null;
  await store.touch(agent_id, { by: 'push', taken: true, status: null, error: null });
  const outcome = await store.commit(batchFor({ request_id, before, after: decided.state, trigger }));
  return outcome.ok ? ((await readTask(store, request_id)) ?? null) : null;
}

function isStillClaimable(state: TaskState, agent_id: string, nowMs: number): boolean {
  const { delivery, deadlineMs } = state;
  return state.agent_id === agent_id && delivery !== null && isClaimable({ delivery, deadlineMs }, nowMs);
}

/** Looks again when something of the agent changes or a hand-out has aged, until the wait is over. */
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
    void clock.sleep(await nextLookInMs(deps, agent_id, endMs), either).then(() => look.abort('looked'));
    try {
      for await (const _hint of store.watch(agentRef(agent_id), either)) {
        const task = await claimNow(deps, agent_id);
        if (task) return task;
      }
    } finally {
      look.abort('looked');
    }
    const task = signal.aborted ? null : await claimNow(deps, agent_id);
    if (task) return task;
  }
  return null;
}

/** Until the wait is over, or a task that was handed out may be handed out again. */
async function nextLookInMs(deps: Deps, agent_id: string, endMs: number): Promise<number> {
  const nowMs = deps.store.nowMs();
  const times = (await listAssigned(deps.store, agent_id))
    .filter(({ delivery }) => !delivery.acknowledged)
    .map(({ delivery }) => handOutMs(delivery));
  // What could have been handed out just now and was not is in other hands: looked at again, but not at every tick.
  const lookMs = Math.max(nowMs + LOOK_AGAIN_MS, Math.min(endMs, ...times));
  return Math.max(1, Math.min(endMs, lookMs) - nowMs);
}
