/**
 * Offers waiting tasks to an agent with free slots: makes the tasks due, so that a dispatcher looks at them.
 * The oldest come first, as many as the agent has free slots. Meanwhile new tasks give way (`assign.ts`).
 *
 * A task is not offered to its own agent, nor to an agent that was busy for it lately; else that agent would
 * be tried again and again. Such tasks may stand before others that the agent can take, so the next look
 * continues behind them. A look costs at most `TASKS_PER_LOOK` reads, however many tasks wait.
 */
import type { SharedReads } from '../../async/shared-reads.ts';
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { AgentRecord } from '../../domain/agent.ts';
import { availabilityOf, excludedAgents, isGone } from '../../domain/delivery.ts';
import { isSettled, mayBeTaken, type TaskState } from '../../domain/task.ts';
import { type AgentStatus, type Page, type Store, taskRef } from '../../ports/store.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { readIfWhole } from '../tasks/read-task.ts';
import type { SweepTimes } from './sweep-times.ts';

/** While tasks wait for an agent with free slots, the agent is looked at again after this long. */
const LOOK_AGAIN_MS = 1_000;
/** The next look continues after this long, so that other agents are looked at in between. */
const GO_ON_MS = 10;
const TASKS_PER_LOOK = 50;
/** How many waiting tasks a new task reads at once, oldest first. */
const TASKS_AHEAD = 10;
/** How many waiting tasks a new task looks at in all. */
const TASKS_AHEAD_MAX = 1_000;

export type WaitingOffers = {
  /** Offers tasks to the agent. Returns when to look at it again for more; null: when its slots change. */
  offer(agentStatus: AgentStatus, nowMs: number): Promise<number | null>;
};

type Offer = { readonly request_id: string; readonly isOffered: boolean; readonly isCertain: boolean };

/** Creates the offers. A position is remembered only for agents to which tasks are being offered. */
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
          const state = (await readIfWhole(store, request_id))?.value;
          return decideOffer(request_id, state, agent_id, nowMs);
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
      return certain.length > 0 ? nowMs + LOOK_AGAIN_MS : null;
    },
  };
}

type LookDeps = {
  readonly store: Store;
  readonly agentIndex: Pick<AgentIndex, 'find'>;
  readonly sweepTimes: SweepTimes;
};

/**
 * Whether a task waits that the agent may take now. Left out are the agent's own tasks, tasks it was busy for
 * lately, and tasks that may be with another agent, unless that agent is gone. New tasks of one tick share
 * the look.
 */
export async function hasWaitingFor(
  deps: LookDeps & { readonly waitingLooks: SharedReads<boolean> },
  record: AgentRecord,
): Promise<boolean> {
  return await deps.waitingLooks.read(record.agent_id, () => lookForWaiting(deps, record));
}

async function lookForWaiting(deps: LookDeps, { agent_id, agent_tags }: AgentRecord): Promise<boolean> {
  const { store, agentIndex, sweepTimes } = deps;
  const nowMs = store.nowMs();
  const resumedMs = sweepTimes.resumedMs(nowMs);
  const mayTake = async (request_id: string): Promise<boolean> => {
    const state = (await readIfWhole(store, request_id))?.value;
    const { isOffered, isCertain } = decideOffer(request_id, state, agent_id, nowMs);
    if (!isOffered || isCertain) return isOffered;
    return isGone(availabilityOf(agentIndex.find(state?.agent_id ?? ''), resumedMs), nowMs);
  };
  let after: string | null = null;
  for (let seen = 0; seen < TASKS_AHEAD_MAX; seen += TASKS_AHEAD) {
    const page: Page<{ readonly request_id: string }> = await store.list(
      'waiting',
      { tags: agent_tags },
      { limit: TASKS_AHEAD, ...(after !== null && { after }) },
    );
    const mayTakeThem = await Promise.all(page.items.map(({ request_id }) => mayTake(request_id)));
    if (mayTakeThem.includes(true)) return true;
    after = page.next;
    if (after === null) return false;
    await yieldToEventLoop();
  }
  return false;
}

/**
 * If the task's present agent may have it, the task is offered in case that agent is gone. Such an offer does
 * not use up one of the free slots.
 */
function decideOffer(
  request_id: string,
  state: TaskState | undefined,
  agent_id: string,
  nowMs: number,
): Offer {
  const none = { request_id, isOffered: false, isCertain: false };
  if (!state || isSettled(state)) return none;
  const { delivery } = state;
  if (!delivery) return { ...none, isOffered: true, isCertain: true };
  if (excludedAgents(delivery, state.agent_id ?? '', nowMs).has(agent_id)) return none;
  return { ...none, isOffered: true, isCertain: !mayBeTaken(delivery) };
}
