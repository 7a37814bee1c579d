/**
 * Wrong designs, planted behind the store port. A gateway could be built with any of them and would mostly
 * work. The suites must find every one, or they are not strong enough to be trusted.
 */
import { indexChanges } from '../../server/domain/projection.ts';
import type { Batch, DueChange, Store, TaskWrite, Write } from '../../server/ports/store.ts';

export type Mutant = {
  /** What is wrong with it. */
  readonly fault: string;
  mutate(store: Store): Store;
};

/** By the name of the design. */
export const MUTANTS = {
  'get-then-set': {
    fault: 'a write replaces what another caller wrote since it was read',
    mutate: (store) => ({
      ...store,
      async commit(batch) {
        const writes = batch.writes.map((write) => expectAnything(store, write));
        return await store.commit({ ...batch, writes: await Promise.all(writes) });
      },
    }),
  },
  'event in a second write': {
    fault: 'a task settles in one commit and its event follows in another',
    mutate: (store) => ({
      ...store,
      async commit({ event, ...batch }) {
        const result = await store.commit(batch);
        if (result.ok && event) await store.commit({ writes: [], event });
        return result;
      },
    }),
  },
  'event before the commit': {
    fault: 'the event is sent before the task is settled',
    mutate: (store) => ({
      ...store,
      async commit({ event, ...batch }) {
        if (event) await store.commit({ writes: [], event });
        return await store.commit(batch);
      },
    }),
  },
  'timers only': {
    fault: 'due entries are kept in the process alone, so none is left after a crash',
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
    fault: 'a replica trusts its own copy of the agents when it abandons a task',
    mutate: (store) => ({
      ...store,
      commit: ({ noneFree: _dropped, ...batch }) => store.commit(batch),
    }),
  },
  'pushing without a lease': {
    fault: 'every replica that sees a due task pushes it',
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
  'pushing before the commit is durable': {
    fault: 'a task that is assigned as it is submitted is pushed beside its commit, not after it',
    mutate: (store) => ({
      ...store,
      async commit(batch) {
        const committed = store.commit(batch);
        if (!batch.noneWaiting) return await committed;
        committed.catch(() => undefined);
        return { ok: true, revision: 'not yet' };
      },
    }),
  },
  'no index': {
    fault: 'a commit writes a task and leaves its entries in the indexes as they were',
    mutate: (store) => ({
      ...store,
      commit: (batch) => store.commit(replaceIndex(batch, () => [])),
    }),
  },
  'index of after alone': {
    fault: 'a commit adds the entries of the new state and removes none of the state before',
    mutate: (store) => ({
      ...store,
      commit: (batch) => store.commit(replaceIndex(batch, ({ value }) => indexChanges(undefined, value))),
    }),
  },
  'ending twice': {
    fault: 'a task that has ended ends once more',
    mutate: (store) => ({
      ...store,
      async commit(batch) {
        const result = await store.commit(batch);
        const ended = batch.writes.filter((write) => write.kind === 'task' && write.ending);
        if (!result.ok || ended.length === 0) return result;
        const writes = ended.map((write) => ({ ...write, expect: result.revision }) as Write);
        return await store.commit({ writes });
      },
    }),
  },
  'output of any writer': {
    fault: 'a writer writes on after another has begun',
    mutate: (store) => ({
      ...store,
      async appendOutput(append) {
        const appended = await store.appendOutput(append);
        const { request_id, pieces, by } = append;
        if (appended.ok || appended.conflict !== 'writer' || by.from === 0) return appended;
        const task = await store.get('task', request_id);
        if (!task) return appended;
        const write: Write = { kind: 'task', id: request_id, expect: task.revision, ...task, index: [] };
        const result = await store.commit({ writes: [write], output: { request_id, append: { pieces } } });
        return result.ok && result.output ? { ok: true, ...result.output } : appended;
      },
    }),
  },
  'beginning without a guard': {
    fault: 'the first write of a writer begins whatever was stored since it looked, and though it has begun',
    mutate: (store) => ({
      ...store,
      async commit(batch) {
        if (!batch.output?.begins) return await store.commit(batch);
        const { request_id } = batch.output;
        await store.commit({ writes: [], output: { request_id, begins: { writer: null } } });
        const writes = batch.writes.map((write) => expectAnything(store, write));
        return await store.commit({ ...batch, writes: await Promise.all(writes) });
      },
    }),
  },
  'the end before the last page': {
    fault: 'how a task stands is read after a page of its output, not before',
    mutate(store) {
      const pages = new Map<string, Awaited<ReturnType<Store['readOutput']>>>();
      return {
        ...store,
        async readOutput(request_id, after, limit) {
          const page = await store.readOutput(request_id, after, limit);
          const older = pages.get(`${request_id} ${after}`) ?? page;
          pages.set(`${request_id} ${after}`, page);
          return { ...older, revision: page.revision };
        },
      };
    },
  },
  'the answer before the commit': {
    fault: 'the piece of an answer is stored before the question is answered',
    mutate: (store) => ({
      ...store,
      async commit(batch) {
        const { output, ...rest } = batch;
        if (output?.append === undefined || output.append.by) return await store.commit(batch);
        await store.commit({ writes: [], output });
        return await store.commit(rest);
      },
    }),
  },
  'an answer once': {
    fault: 'behind a question that is asked again its answer does not stand again',
    mutate: (store) => ({
      ...store,
      async commit(batch) {
        const { output } = batch;
        if (!output?.append?.behind) return await store.commit(batch);
        const append = { ...output.append, behind: [] };
        return await store.commit({ ...batch, output: { ...output, append } });
      },
    }),
  },
} as const satisfies Readonly<Record<string, Mutant>>;

function replaceIndex(batch: Batch, index: (write: TaskWrite) => TaskWrite['index']): Batch {
  const writes = batch.writes.map((write) =>
    write.kind === 'task' ? { ...write, index: index(write) } : write,
  );
  return { ...batch, writes };
}

function dropLeases(batch: Batch, nowMs: number): Batch {
  if (!batch.due) return batch;
  const due = batch.due.map(
    ({ ref, atMs }): DueChange => ({ ref, atMs: atMs === 'held' ? nowMs + 400 : atMs }),
  );
  return { ...batch, due };
}

/** The write with the revision that its value has now. An input and a key are written once, by any design. */
async function expectAnything(store: Store, write: Write): Promise<Write> {
  if (write.kind === 'input' || write.kind === 'key') return write;
  return { ...write, expect: (await store.get(write.kind, write.id))?.revision ?? 'absent' };
}
