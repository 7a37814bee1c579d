/** Works on many items of one caller, a slice at a time, so that the calls of others run in between. */
import { yieldToEventLoop } from './waiting.ts';

const ITEMS_PER_SLICE = 50;

/** Does the work for each item, slice after slice. An error ends the work after its slice and rejects. */
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
