/**
 * Wrong designs, planted behind the store port. Each is a way in which such a gateway could be built and would mostly
 * work; the suites must find every one of them, or they are not strong enough to trust.
 */
import type { Batch, DueChange, Store } from '../../server/ports/store.ts';

export type Mutant = {
  /** What is wrong with it. */
  readonly fault: string;
  mutate(store: Store): Store;
};

/** By the name of the design. */
export const MUTANTS = {
  'get-then-set': {
    fault: 'what was read is written over, whoever was faster',
    mutate: (store) => ({
      ...store,
      commit: (batch) =>
        store.commit({
          ...batch,
          writes: batch.writes.map((write) => ({ ...write, expect: 'any' as const })),
        }),
    }),
  },
  'event in a second write': {
    fault: 'the task ends in one commit, its event follows in another',
    mutate: (store) => ({
      ...store,
      async commit({ event, ...batch }) {
        const outcome = await store.commit(batch);
        if (outcome.ok && event) await store.commit({ writes: [], event });
        return outcome;
      },
    }),
  },
  'event before the commit': {
    fault: 'the event is told before the task has ended',
    mutate: (store) => ({
      ...store,
      async commit({ event, ...batch }) {
        if (event) await store.commit({ writes: [], event });
        return await store.commit(batch);
      },
    }),
  },
  'timers only': {
    fault: 'what is due lives in the process: after a crash nobody looks again',
    mutate(store) {
      const timed = new Set<string>();
      return {
        ...store,
        commit(batch) {
          for (const { ref } of batch.due ?? []) timed.add(ref);
          return store.commit(batch);
        },
        takeDue: async (limit) => (await store.takeDue(limit)).filter(({ ref }) => timed.has(ref)),
      };
    },
  },
  'abandoning on a stale copy': {
    fault: 'a replica believes its own copy of the agents when it gives a task up',
    mutate: (store) => ({
      ...store,
      commit: ({ noneFree: _believed, ...batch }) => store.commit(batch),
    }),
  },
  'pushing without a lease': {
    fault: 'whoever sees that a task is due pushes it',
    mutate: (store) => ({
      ...store,
      commit: (batch) => store.commit(dropLeases(batch, store.nowMs())),
      async takeDue(limit) {
        const taken = await store.takeDue(limit);
        const atMs = store.nowMs();
        await store.commit({ writes: [], due: taken.map(({ ref }) => ({ ref, atMs })) });
        return taken;
      },
    }),
  },
} as const satisfies Readonly<Record<string, Mutant>>;

function dropLeases(batch: Batch, nowMs: number): Batch {
  if (!batch.due) return batch;
  const due = batch.due.map(
    ({ ref, atMs }): DueChange => ({ ref, atMs: atMs === 'held' ? nowMs + 400 : atMs }),
  );
  return { ...batch, due };
}
