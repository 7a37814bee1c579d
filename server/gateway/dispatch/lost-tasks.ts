/**
 * Fails running tasks of agents that registered with `lost_after`. A task is lost once this time has passed
 * since the agent's last contact and since the task's assignment. For example, with a `lost_after` of 60 s, a
 * task assigned 20 s after the last contact fails 80 s after the contact.
 *
 * An agent's oldest assignments are looked at first. A look costs a page of the agent's tasks, however many
 * it has. All looks together commit a bounded number of losses at a time, so that other due work runs in
 * between.
 */

import type { TaskState } from '../../domain/task.ts';
import type { AgentStatus, Store, Stored } from '../../ports/store.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';
import { readIfWhole } from '../tasks/read-task.ts';

export type LostTasks = {
  /**
   * Fails a bounded number of the tasks that are lost at `nowMs`. Returns when to look at the agent's tasks
   * again; null if no later time would make one of them lost.
   */
  lose(agentStatus: AgentStatus, nowMs: number): Promise<number | null>;
};

type RunningTask = {
  readonly request_id: string;
  readonly stored: Stored<TaskState>;
  readonly lostMs: number;
};

/** How many tasks of an agent one look takes. */
const PAGE = 100;
/** How many losses are committed at a time, for all agents together. */
const LOSSES_MAX = 500;
/** After a conflict, or when too many losses are under way, the agent is looked at again after this long. */
const LOOK_AGAIN_MS = 100;

export function createLostTasks({ store, commits }: { store: Store; commits: TaskCommits }): LostTasks {
  let losing = 0;

  return {
    async lose({ record, contact }, nowMs) {
      const { agent_id, lostAfterMs, unregisteredMs } = record;
      if (lostAfterMs === null || unregisteredMs !== null) return null;
      const silenceMs = nowMs - contact.contactMs;
      if (silenceMs < lostAfterMs) return contact.contactMs + lostAfterMs;
      const { tasks, isLast } = await listOldest(store, agent_id, lostAfterMs);
      const due = tasks.filter(({ lostMs }) => lostMs <= nowMs);
      const lost = due.slice(0, LOSSES_MAX - losing);
      const trigger = { type: 'lose', seconds: Math.floor(silenceMs / 1_000) } as const;
      const options = { noContactAfter: { agent_id, atMs: contact.contactMs } };
      losing += lost.length;
      try {
        const steps = lost.map(({ request_id, stored }) =>
          commits.commitStep(request_id, stored, trigger, options),
        );
        const results = await Promise.all(steps);
        const isInterrupted = lost.length < due.length || results.some(({ kind }) => kind === 'conflict');
        if (isInterrupted) return nowMs + LOOK_AGAIN_MS;
      } finally {
        losing -= lost.length;
      }
      if (due.length === tasks.length) return isLast ? null : nowMs;
      return Math.min(...tasks.slice(due.length).map(({ lostMs }) => lostMs));
    },
  };
}

/** Lists the oldest assignments of an agent, each with the time from which it counts as lost. */
async function listOldest(
  store: Store,
  agent_id: string,
  lostAfterMs: number,
): Promise<{ readonly tasks: readonly RunningTask[]; readonly isLast: boolean }> {
  const { items, next } = await store.list('slots', { agent_id }, { limit: PAGE });
  const found = await Promise.all(items.map(({ request_id }) => readIfWhole(store, request_id)));
  const tasks = items.flatMap(({ request_id }, index): RunningTask[] => {
    const stored = found[index];
    const delivery = stored?.value.agent_id === agent_id ? stored.value.delivery : null;
    return stored && delivery ? [{ request_id, stored, lostMs: delivery.assignedMs + lostAfterMs }] : [];
  });
  return { tasks: tasks.sort((a, b) => a.lostMs - b.lostMs), isLast: next === null };
}
