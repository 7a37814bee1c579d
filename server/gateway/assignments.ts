/** What an agent holds, what it says it holds, and what it should drop. */
import { type Delivery, isSettled } from '../domain/task.ts';
import type { Store } from '../ports/store.ts';
import type { Transitions } from './commit-step.ts';

/** Longest list of cancelled tasks in an answer. */
const CANCELLED_MAX = 1_000;
const HELD_PAGE = 1_000;

export type AssignedTask = {
  readonly request_id: string;
  readonly delivery: Delivery;
  readonly deadlineMs: number;
};

/** All running tasks assigned to an agent, oldest assignment first. Costs a read a task held. */
export async function listAssigned(store: Store, agent_id: string): Promise<readonly AssignedTask[]> {
  const held: AssignedTask[] = [];
  let after: string | null = null;
  do {
    const page: { items: readonly { request_id: string }[]; next: string | null } = await store.list(
      'slots',
      { agent_id },
      { limit: HELD_PAGE, ...(after !== null && { after }) },
    );
    const states = await Promise.all(page.items.map(({ request_id }) => store.get('task', request_id)));
    for (const [index, { request_id }] of page.items.entries()) {
      const state = states[index]?.value;
      if (state?.delivery && state.agent_id === agent_id) {
        held.push({ request_id, delivery: state.delivery, deadlineMs: state.deadlineMs });
      }
    }
    after = page.next;
  } while (after !== null);
  return held;
}

/** The tasks an agent names are acknowledged where they are assigned to it; others it names are left alone. */
export async function acknowledgeNamed(
  deps: { store: Store; transitions: Transitions },
  agent_id: string,
  request_ids: readonly string[],
): Promise<void> {
  const one = async (request_id: string): Promise<void> => {
    const state = (await deps.store.get('task', request_id))?.value;
    const news = state?.agent_id === agent_id && state.delivery && !state.delivery.acknowledged;
    if (news)
      await deps.transitions.advance(request_id, () => ({ type: 'acknowledge', agent_id, attempt: null }));
  };
  await Promise.all([...new Set(request_ids)].map(one));
}

/**
 * What the agent should stop working on: of the tasks it names those that ended or are no longer its own; of one that
 * names none, the tasks assigned to it that ended without its report in the last ten minutes.
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
