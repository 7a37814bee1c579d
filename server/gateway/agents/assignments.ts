/**
 * The tasks assigned to an agent: lists them, acknowledges the tasks that the agent names, and lists the
 * tasks to drop.
 */
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { AgentRecord } from '../../domain/agent.ts';
import type { Delivery } from '../../domain/task.ts';
import type { Trigger } from '../../domain/triggers.ts';
import { type Store, taskRef } from '../../ports/store.ts';
import { commitEach, type TaskCommits } from '../tasks/commit-step.ts';
import { readIfWhole, unlessDamaged } from '../tasks/read-task.ts';
import type { CommitOptions } from '../tasks/task-batch.ts';

/** How many cancelled tasks a response lists. */
const CANCELLED_MAX = 1_000;
const SLOTS_PAGE = 200;

export type AssignedTask = {
  readonly request_id: string;
  readonly delivery: Delivery;
  readonly deadlineMs: number;
};

/** Lists the running tasks that are assigned to an agent, oldest assignment first. Costs a read for each. */
export async function listAssigned(store: Store, agent_id: string): Promise<readonly AssignedTask[]> {
  const assigned: AssignedTask[] = [];
  let after: string | null = null;
  do {
    const page: { items: readonly { request_id: string }[]; next: string | null } = await store.list(
      'slots',
      { agent_id },
      { limit: SLOTS_PAGE, ...(after !== null && { after }) },
    );
    const found = await Promise.all(
      page.items.map(({ request_id }) => readAssigned(store, agent_id, request_id)),
    );
    assigned.push(...found.flat());
    after = page.next;
    if (after !== null) await yieldToEventLoop();
  } while (after !== null);
  return assigned;
}

/** Keeps only a part of the state, which may be large; returns nothing if the agent has lost the task. */
async function readAssigned(
  store: Store,
  agent_id: string,
  request_id: string,
): Promise<readonly AssignedTask[]> {
  const state = (await readIfWhole(store, request_id))?.value;
  if (!state?.delivery || state.agent_id !== agent_id) return [];
  return [{ request_id, delivery: state.delivery, deadlineMs: state.deadlineMs }];
}

/**
 * Makes the agent's unacknowledged tasks due at once: it became unavailable, or is back. A push under way
 * keeps its lease.
 */
export async function makeUnacknowledgedDue(
  { store, commits }: { store: Store; commits: TaskCommits },
  agent_id: string,
): Promise<void> {
  const atMs = store.nowMs();
  const assigned = (await listAssigned(store, agent_id)).filter(({ delivery }) => !delivery.acknowledged);
  const due = assigned.map(({ request_id }) => ({
    ref: taskRef(request_id),
    atMs,
    unlessHeld: true as const,
  }));
  for (let from = 0; from < due.length; from += SLOTS_PAGE)
    await commits.reschedule(due.slice(from, from + SLOTS_PAGE));
}

/**
 * Acknowledges the named tasks that are assigned to the agent, and ignores the others. Costs a read for each
 * assigned task, and a commit for each newly acknowledged one.
 */
export async function acknowledgeNamed(
  deps: { store: Store; commits: TaskCommits },
  of: Registered,
  request_ids: readonly string[],
): Promise<void> {
  const { agent_id } = of;
  const held = await deps.store.findSlots(agent_id, request_ids);
  const trigger = { type: 'acknowledge', agent_id, attempt: null } as const;
  await stepWhileRegistered(
    deps,
    of,
    [...held].map((request_id) => ({ request_id, trigger })),
  );
}

type Registered = Pick<AgentRecord, 'agent_id' | 'registration'>;

/**
 * Commits a step for each task while the agent keeps the registration of `of`. If the agent registers again,
 * the remaining steps are dropped, because its new process may have other tasks. A damaged task does not stop
 * the others.
 */
export async function stepWhileRegistered(
  { store, commits }: { store: Store; commits: TaskCommits },
  { registration }: Registered,
  steps: readonly { readonly request_id: string; readonly trigger: Trigger }[],
  options: CommitOptions = {},
): Promise<void> {
  let isPresent = true;
  await commitEach(steps, ({ request_id, trigger }) =>
    commits.retryCommit(async (notAfterMs) => {
      const before = isPresent ? await readIfWhole(store, request_id) : undefined;
      if (!before) return true;
      const how = { ...options, registration, notAfterMs };
      const result = await unlessDamaged(commits.commitStep(request_id, before, trigger, how));
      if (result?.kind !== 'conflict') return true;
      if (result.conflict.conflict === 'slot') isPresent = false;
      return isPresent ? undefined : true;
    }),
  );
}

/**
 * Lists the tasks that the agent should stop working on. If the agent names tasks, these are the named tasks
 * that have settled or moved. If it names none, these are its tasks that settled without its report in the
 * last ten minutes. For example, a client cancels a task: the agent's next heartbeat returns its id.
 */
export async function listCancelled(
  store: Store,
  agent_id: string,
  request_ids: readonly string[] | undefined,
): Promise<readonly string[]> {
  if (!request_ids) {
    const { items } = await store.list('unreported', { agent_id }, { limit: CANCELLED_MAX });
    return items.map(({ request_id }) => request_id);
  }
  const held = await store.findSlots(agent_id, request_ids);
  return [...new Set(request_ids)].filter((request_id) => !held.has(request_id));
}
