/**
 * Offers waiting tasks to an agent with free slots: makes them due, so that a dispatcher looks at them. Oldest
 * first, as many as the agent has slots for; a newcomer may overtake.
 *
 * A task is not offered to the agent it runs on, nor to one that was busy for it lately: that agent would only
 * be tried again and again. Such tasks may stand before others that the agent can take, so the next look goes
 * on behind them. A look costs at most `TASKS_PER_LOOK` reads, however many tasks wait.
 */
import { excludedAgents } from '../domain/delivery.ts';
import { isSettled, mayBeTaken, type TaskState } from '../domain/task.ts';
import { type AgentStatus, type Store, taskRef } from '../ports/store.ts';
import type { TaskCommits } from './commit-step.ts';

/** While tasks wait for an agent that has free slots, it is looked at again after this. */
const LOOK_AGAIN_MS = 1_000;
/** The next look goes on after this: other agents have their turns in between. */
const GO_ON_MS = 10;
const TASKS_PER_LOOK = 100;

export type WaitingOffers = {
  /** Offers tasks to the agent; returns when to look at it again for more, or null: when its slots change. */
  offer(agentStatus: AgentStatus, nowMs: number): Promise<number | null>;
};

/** What a waiting task is to an agent; `excludedUntilMs` is set when the agent was busy for it. */
type Offer = {
  readonly request_id: string;
  readonly isOffered: boolean;
  readonly isCertain: boolean;
  readonly excludedUntilMs: number | null;
};

/** Creates it. It remembers how far it has come only for agents that tasks are being offered to. */
export function createWaitingOffers(deps: {
  readonly store: Store;
  readonly commits: TaskCommits;
}): WaitingOffers {
  const { store, commits } = deps;
  const positions = new Map<string, string>();

  return {
    async offer({ record, slots }, nowMs) {
      const { agent_id } = record;
      const free = record.limit - slots;
      const after = positions.get(agent_id);
      positions.delete(agent_id);
      if (free <= 0) return null;
      const page = await store.list(
        'waiting',
        { tags: record.agent_tags },
        { limit: TASKS_PER_LOOK, ...(after !== undefined && { after }) },
      );
      const offers = await Promise.all(
        page.items.map(async ({ request_id }) => {
          const state = (await store.get('task', request_id))?.value;
          return classifyOffer(request_id, state, agent_id, nowMs);
        }),
      );
      const certain = offers.filter(({ isCertain }) => isCertain).slice(0, free);
      const uncertain = offers.filter(({ isOffered, isCertain }) => isOffered && !isCertain);
      const due = [...certain, ...uncertain].map(({ request_id }) => ({
        ref: taskRef(request_id),
        atMs: nowMs,
        unlessHeld: true as const,
      }));
      if (due.length > 0) await commits.reschedule(due);
      if (certain.length < free && page.next !== null) {
        positions.set(agent_id, page.next);
        return nowMs + GO_ON_MS;
      }
      if (certain.length > 0) return nowMs + LOOK_AGAIN_MS;
      const times = offers.flatMap(({ excludedUntilMs }) => excludedUntilMs ?? []);
      return times.length === 0 ? null : Math.min(...times);
    },
  };
}

/**
 * A task whose present agent may have it is offered only in case that agent is gone, and takes no slot of
 * those that are offered for certain.
 */
function classifyOffer(
  request_id: string,
  state: TaskState | undefined,
  agent_id: string,
  nowMs: number,
): Offer {
  const none = { request_id, isOffered: false, isCertain: false, excludedUntilMs: null };
  if (!state || isSettled(state)) return none;
  const { delivery } = state;
  if (!delivery) return { ...none, isOffered: true, isCertain: true };
  if (state.agent_id === agent_id) return none;
  if (excludedAgents(delivery, '', nowMs).has(agent_id)) {
    const busy = delivery.busy.find((one) => one.agent_id === agent_id);
    return { ...none, excludedUntilMs: busy?.untilMs ?? null };
  }
  return { ...none, isOffered: true, isCertain: !mayBeTaken(delivery) };
}
