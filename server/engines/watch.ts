/**
 * The port's `watch`, for every engine: yields at once, then after every notification, until the signal
 * fires.
 */
import type { Ref } from '../ports/store.ts';
import type { DueTimer } from './due-timer.ts';
import type { Notifications } from './notifications.ts';

/** Watches a topic. The due timer runs while there is a watcher of the topic `due`. */
export async function* watchTopic(
  { notifications, dueTimer }: { readonly notifications: Notifications; readonly dueTimer: DueTimer },
  topic: Ref | 'due',
  signal: AbortSignal,
): AsyncGenerator<void> {
  const listener = notifications.listen(topic, signal);
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
