/** How a read waits for a change of a task or of its output. */
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';

type Deps = { readonly store: Pick<Store, 'watch'>; readonly clock: Clock };

/**
 * Calls `look` at once and after each change of the topic. Resolves when `look` returns true, when the wait
 * is over, or when the caller leaves.
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
