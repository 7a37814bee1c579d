/** Work on many items of one caller, a slice at a time, so that the calls of others run in between. */
import { yieldToEventLoop } from './waiting.ts';

/** How many items are worked on at once. */
const ITEMS_PER_SLICE = 50;

/** Does the work for each item, in order of slices; rejects with the first error, after its slice. */
export async function runInSlices<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < items.length; from += ITEMS_PER_SLICE) {
    if (from > 0) await yieldToEventLoop();
    const results = await Promise.allSettled(items.slice(from, from + ITEMS_PER_SLICE).map(work));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}
