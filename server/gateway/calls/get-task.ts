/** `getTask`: the client looks at a task, or waits until it has ended. */
import { isSettled } from '../../domain/task.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Gateway } from '../../ports/gateway.ts';
import { type Store, taskRef } from '../../ports/store.ts';
import { readTask, taskNotFound } from '../tasks/read-task.ts';
import { awaitChange } from './await-change.ts';

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
};

export function createGetTask(deps: Deps): Pick<Gateway, 'getTask'> {
  const { store } = deps;
  return {
    async getTask(request_id, waitMs, signal) {
      const found = await readTask(store, request_id);
      if (!found) throw taskNotFound();
      if (waitMs === 0 || isSettled(found.task)) return found;
      await awaitChange(deps, taskRef(request_id), waitMs, signal, async () => {
        const state = await store.get('task', request_id);
        return !state || isSettled(state.value);
      });
      return (await readTask(store, request_id)) ?? found;
    },
  };
}
