/** The port's `watch`, for every engine: a hint at once, then after every change, until the signal fires. */
import type { Ref } from '../ports/store.ts';
import type { Alarm } from './alarm.ts';
import type { Hints } from './hints.ts';

/** Listens to a topic. Who listens for what is due keeps the alarm set while it does. */
export async function* watchTopic(
  { hints, alarm }: { readonly hints: Hints; readonly alarm: Alarm },
  topic: Ref | 'due',
  signal: AbortSignal,
): AsyncGenerator<void> {
  const listener = hints.listen(topic, signal);
  if (topic === 'due') alarm.look();
  try {
    if (signal.aborted) return;
    do yield;
    while (await listener.next());
  } finally {
    listener.close();
    if (topic === 'due') alarm.look();
  }
}
