/**
 * A session's stream of `task_done` events. The feed holds the id and the cursor of each settled task. The
 * event is read from the task itself, so that it equals what `getTask` returns. Replay and live events are
 * one loop.
 *
 * If several readers get the same feed item, they share one read of the task and one rendering. The cache
 * holds an item only while a reader waits for it. So a reader that stops reading costs one event, not all it
 * missed.
 */
import { type LargeWork, passOver } from '../../async/large-work.ts';
import type { TaskState } from '../../domain/task.ts';
import type { Gateway, RenderItem, StreamItem, TaskDone } from '../../ports/gateway.ts';
import type { FeedItem, Store } from '../../ports/store.ts';
import type { Tracing } from '../../ports/tracing.ts';
import { readIfWhole } from '../tasks/read-task.ts';
import { runTaskHop } from '../tasks/task-traces.ts';

/** The renderings by one render function, for each feed item. */
type RenderedItems = WeakMap<FeedItem, WeakRef<Promise<unknown>>>;

type Deps = { readonly store: Store; readonly largeWork: LargeWork; readonly tracing: Tracing };

export function createSubscribeEvents(deps: Deps): Pick<Gateway, 'subscribeEvents'> {
  const { store, largeWork } = deps;
  const cache = new WeakMap<RenderItem<unknown>, RenderedItems>();

  function renderShared<T>(item: FeedItem, render: RenderItem<T>): Promise<T> {
    const renderedItems: RenderedItems = cache.get(render) ?? new WeakMap();
    cache.set(render, renderedItems);
    const cached = renderedItems.get(item)?.deref();
    // Each render function has its own cache, so the cached value has its type.
    if (cached) return cached as Promise<T>;
    const rendering = (item.gap ? Promise.resolve(item) : readItem(deps, item)).then((read) =>
      passOver(largeWork, read.gap ? null : read.event.result, () => render(read)),
    );
    renderedItems.set(item, new WeakRef(rendering));
    return rendering;
  }

  return {
    async *subscribeEvents(session, after, render, signal) {
      for await (const item of store.feed(session, after, signal)) yield await renderShared(item, render);
    },
  };
}

type EventItem = Extract<FeedItem, { gap: false }>;

/** The span of the delivery covers this read, not the time until readers take the event. */
function readItem(deps: Deps, item: EventItem): Promise<StreamItem> {
  return runTaskHop(deps, {
    hop: 'deliver',
    request_id: item.request_id,
    work: () => readEvent(deps, item),
    describe: (read) => (read.gap ? {} : { status: read.event.status }),
  });
}

async function readEvent({ store }: Deps, item: EventItem): Promise<StreamItem> {
  const state = item.state ?? (await readIfWhole(store, item.request_id))?.value;
  // The task was trimmed meanwhile, or is damaged: the reader learns that an event is missing.
  if (!state) return { gap: true };
  return { gap: false, cursor: item.cursor, event: describeTaskDone(item.request_id, state) };
}

/** Builds exactly the five fields of the contract. */
function describeTaskDone(request_id: string, state: TaskState): TaskDone {
  return {
    event: 'task_done',
    request_id,
    status: state.status === 'success' ? 'success' : 'failed',
    result: state.result,
    error_info: state.error_info,
  };
}
