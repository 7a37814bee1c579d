/**
 * The tasks assigned to an agent: listing them, acknowledging those it names, and naming those it should
 * drop.
 */
import { type Delivery, isSettled } from '../domain/task.ts';
import type { Store } from '../ports/store.ts';
import type { TaskCommits } from './commit-step.ts';

/** Longest list of cancelled tasks in a response. */
const CANCELLED_MAX = 1_000;
const SLOTS_PAGE = 1_000;

export type AssignedTask = {
  readonly request_id: string;
  readonly delivery: Delivery;
  readonly deadlineMs: number;
};

/** All running tasks assigned to an agent, oldest assignment first. Costs one read for each slot it holds. */
export async function listAssigned(store: Store, agent_id: string): Promise<readonly AssignedTask[]> {
  const assigned: AssignedTask[] = [];
  let after: string | null = null;
  do {
    const page: { items: readonly { request_id: string }[]; next: string | null } = await store.list(
      'slots',
      { agent_id },
      { limit: SLOTS_PAGE, ...(after !== null && { after }) },
    );
    const states = await Promise.all(page.items.map(({ request_id }) => store.get('task', request_id)));
    for (const [index, { request_id }] of page.items.entries()) {
      const state = states[index]?.value;
      if (state?.delivery && state.agent_id === agent_id) {
        assigned.push({ request_id, delivery: state.delivery, deadlineMs: state.deadlineMs });
      }
    }
    after = page.next;
  } while (after !== null);
  return assigned;
}

/** Acknowledges the tasks that an agent names and that are assigned to it; ignores the others it names. */
export async function acknowledgeNamed(
  { store, commits }: { store: Store; commits: TaskCommits },
  agent_id: string,
  request_ids: readonly string[],
): Promise<void> {
  const acknowledge = async (request_id: string): Promise<void> => {
    const state = (await store.get('task', request_id))?.value;
    if (state?.agent_id !== agent_id || !state.delivery || state.delivery.acknowledged) return;
    await commits.advanceTask(request_id, { type: 'acknowledge', agent_id, attempt: null });
  };
  await Promise.all([...new Set(request_ids)].map(acknowledge));
}

/**
 * The tasks the agent should stop working on: of those it names, the ones that are settled or no longer its
 * own; of an agent that names none, the tasks assigned to it that settled without its report in the last ten
 * minutes.
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
  const named = [...new Set(request_ids)];
  const states = await Promise.all(named.map((request_id) => store.get('task', request_id)));
  return named.filter((_, index) => {
    const state = states[index]?.value;
    return !state || isSettled(state) || state.agent_id !== agent_id;
  });
}
