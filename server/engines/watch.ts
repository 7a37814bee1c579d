/**
 * The port's `watch` for every engine: yields at once, then after every notification, until the signal fires.
 */
import type { Store } from '../ports/store.ts';
import type { DueTimer } from './due-timer.ts';
import type { Notifications } from './notifications.ts';

type Deps = {
  readonly notifications: Notifications;
  readonly dueTimer: DueTimer;
  /** Throws if the store can't be watched now. */
  readonly requireUp: () => void;
};

/** Watches a topic. A watcher of a task's output also watches the task's state. */
export async function* watchTopic(
  { notifications, dueTimer, requireUp }: Deps,
  topic: Parameters<Store['watch']>[0],
  signal: AbortSignal,
): AsyncGenerator<void> {
  requireUp();
  const topics = topic.startsWith('output:') ? [topic, `task:${topic.slice('output:'.length)}`] : [topic];
  const listener = notifications.listen(topics, signal);
  if (topic === 'due') dueTimer.update();
  try {
    if (signal.aborted) return;
    do yield;
    while (await listener.next());
  } finally {
    listener.close();
    if (topic === 'due') dueTimer.update();
  }
}
