/** How a read waits: for a change of the task or of its output that makes a difference to it. */
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';

type Deps = { readonly store: Pick<Store, 'watch'>; readonly clock: Clock };

/**
 * Looks at once and after each change of the topic; resolves when a look returns true, the wait is over or
 * the caller leaves.
 */
export async function awaitChange(
  { store, clock }: Deps,
  topic: Parameters<Store['watch']>[0],
  waitMs: number,
  signal: AbortSignal,
  look: () => Promise<boolean>,
): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  void clock.sleep(waitMs, either).then(() => over.abort('over'));
  try {
    for await (const _ of store.watch(topic, either)) if (await look()) break;
  } finally {
    over.abort('over');
  }
}
