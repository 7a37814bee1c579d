/** A session's stream of `task_done` events (§6). A stored event is the task's id and its place, so it equals GET. */
import type { TaskState } from '../domain/task.ts';
import type { Gateway, StreamItem, TaskDone } from '../ports/gateway.ts';
import type { FeedItem, Store } from '../ports/store.ts';

/** Creates the subscription. Replay and live are the same loop. */
export function createEvents(deps: { store: Store }): Pick<Gateway, 'subscribeEvents'> {
  // Readers that are given the same item by the store are given the same event: it is read once for all of them. It is
  // held by those who are at it and by nobody else, so that a reader who stands still costs one event, not all it passed.
  const known = new WeakMap<FeedItem, WeakRef<Promise<StreamItem>>>();

  function describeShared(item: FeedItem): Promise<StreamItem> {
    const before = known.get(item)?.deref();
    if (before) return before;
    const described = describeItem(deps.store, item);
    known.set(item, new WeakRef(described));
    return described;
  }

  return {
    async *subscribeEvents(session, after, signal) {
      for await (const item of deps.store.feed(session, after, signal)) yield await describeShared(item);
    },
  };
}

async function describeItem(store: Store, item: FeedItem): Promise<StreamItem> {
  if (item.gap) return { gap: true };
  const state = (await store.get('task', item.request_id))?.value;
  // Its time was over between the two reads: the reader learns that something is missing.
  if (!state) return { gap: true };
  return { gap: false, cursor: item.cursor, event: describeEnd(item.request_id, state) };
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
