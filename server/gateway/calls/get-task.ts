/** `getTask`: the client looks at a task, or waits until it has ended. */
import { isSettled } from '../../domain/task.ts';
import { UNNAMED_CALLER } from '../../ports/caller.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Gateway } from '../../ports/gateway.ts';
import { type Store, taskRef } from '../../ports/store.ts';
import type { LargeTasks } from '../tasks/large-tasks.ts';
import { readTask, taskNotFound } from '../tasks/read-task.ts';

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly largeTasks: LargeTasks;
};

/** Creates the operation. */
export function createGetTask(deps: Deps): Pick<Gateway, 'getTask'> {
  const { store, largeTasks } = deps;
  return {
    async getTask(request_id, waitMs, signal, caller = UNNAMED_CALLER) {
      const read = () => largeTasks.read(request_id, { caller }, () => readTask(store, request_id, caller));
      const found = await read();
      if (!found) throw taskNotFound();
      if (waitMs === 0 || isSettled(found.task)) return found;
      await awaitTerminal(deps, request_id, waitMs, signal);
      return (await read()) ?? found;
    },
  };
}

/** Resolves when the task is terminal, the wait is over or the caller leaves. */
async function awaitTerminal(
  deps: Deps,
  request_id: string,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  void deps.clock.sleep(waitMs, either).then(() => over.abort('over'));
  try {
    for await (const _ of deps.store.watch(taskRef(request_id), either)) {
      const state = await deps.store.get('task', request_id);
      if (!state || isSettled(state.value)) break;
    }
  } finally {
    over.abort('over');
  }
}
