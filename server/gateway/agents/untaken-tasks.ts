/**
 * The tasks that this process assigned and whose agents have not taken them, as far as this process has seen.
 * Another replica may have seen a task taken or settled. So a reading compares the tasks with the slots of
 * their agent, and drops tasks that the agent has lost. Beyond a maximum, the task without a change for
 * longest is forgotten.
 */
import { createBoundedMap } from '../../async/bounded-map.ts';
import type { TaskStep } from '../../ports/observer.ts';
import type { Store } from '../../ports/store.ts';

/** How many tasks are remembered, at about 200 bytes each. */
const TASKS_MAX = 20_000;
/** How many tasks of an agent a reading compares with its slots. */
const COMPARED_MAX = 100;

export type UntakenTasks = {
  /** Notes that a task was assigned, taken, moved or settled. */
  noteStep(step: TaskStep): void;
  /** Notes that the agent has taken the task. Its commit may still wait. */
  noteTaken(request_id: string): void;
  /** Notes when a task that was not taken is pushed again. */
  noteRetry(request_id: string, atMs: number): void;
  /** How many tasks the agent has not taken. It may count a task that only another replica has seen taken. */
  count(agent_id: string): number;
  /** How many of its tasks the agent has not taken, and when the first of them is pushed again. */
  read(agent_id: string): Promise<{ readonly count: number; readonly nextMs: number | null }>;
};

type Entry = {
  readonly agent_id: string;
  /** How many pushes have begun. `nextMs` holds until the next one begins. */
  readonly attempts: number;
  readonly nextMs: number | null;
};

export function createUntakenTasks(store: Pick<Store, 'findSlots'>): UntakenTasks {
  const tasks = createBoundedMap<string, Entry>(TASKS_MAX, dropFromAgent);
  const byAgent = new Map<string, Set<string>>();

  function dropFromAgent(request_id: string, { agent_id }: Entry): void {
    const ids = byAgent.get(agent_id);
    ids?.delete(request_id);
    if (ids?.size === 0) byAgent.delete(agent_id);
  }

  function remove(request_id: string): void {
    const entry = tasks.get(request_id);
    if (!entry) return;
    tasks.delete(request_id);
    dropFromAgent(request_id, entry);
  }

  function add(request_id: string, entry: Entry): void {
    const { agent_id } = entry;
    tasks.set(request_id, entry);
    byAgent.set(agent_id, (byAgent.get(agent_id) ?? new Set()).add(request_id));
  }

  return {
    noteTaken: remove,
    noteStep({ request_id, after: { agent_id, delivery } }) {
      const before = tasks.get(request_id);
      remove(request_id);
      if (!delivery || delivery.acknowledged || agent_id === null) return;
      const { attempts } = delivery;
      // If no push has begun since, the time of the next attempt still holds.
      const isSame = before?.agent_id === agent_id && before.attempts === attempts;
      add(request_id, { agent_id, attempts, nextMs: isSame ? before.nextMs : null });
    },
    noteRetry(request_id, atMs) {
      const entry = tasks.get(request_id);
      if (entry) tasks.set(request_id, { ...entry, nextMs: atMs });
    },
    count: (agent_id) => byAgent.get(agent_id)?.size ?? 0,
    async read(agent_id) {
      const compared = [...(byAgent.get(agent_id) ?? [])].slice(-COMPARED_MAX);
      if (compared.length === 0) return { count: 0, nextMs: null };
      const held = await store.findSlots(agent_id, compared);
      for (const request_id of compared) if (!held.has(request_id)) remove(request_id);
      const times = [...held].flatMap((request_id) => tasks.get(request_id)?.nextMs ?? []);
      const count = byAgent.get(agent_id)?.size ?? 0;
      return { count, nextMs: times.length === 0 ? null : Math.min(...times) };
    },
  };
}
