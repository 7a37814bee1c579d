/** A session's stream of `task_done` events (§6). A stored event is the task's id and its place, so it equals GET. */
import type { TaskState } from '../domain/task.ts';
import type { Gateway, TaskDone } from '../ports/gateway.ts';
import type { Store } from '../ports/store.ts';

/** Creates the subscription. Replay and live are the same loop. */
export function createEvents(deps: { store: Store }): Pick<Gateway, 'subscribeEvents'> {
  const { store } = deps;
  return {
    async *subscribeEvents(session, after, signal) {
      for await (const item of store.feed(session, after, signal)) {
        if (item.gap) {
          yield { gap: true };
          continue;
        }
        const state = (await store.get('task', item.request_id))?.value;
        // Its time was over between the two reads: the reader learns that something is missing.
        if (!state) yield { gap: true };
        else yield { gap: false, cursor: item.cursor, event: describeEnd(item.request_id, state) };
      }
    },
  };
}

/** The event of a settled task: exactly the five fields of §6. */
function describeEnd(request_id: string, state: TaskState): TaskDone {
  return {
    event: 'task_done',
    request_id,
    status: state.status === 'success' ? 'success' : 'failed',
    result: state.result,
    error_info: state.error_info,
  };
}
