/** Waits, but not for ever. */
import type { Clock } from '../ports/clock.ts';

/** Resolves as the work does, or with `late` when it takes longer than this; the work goes on all the same. */
export async function waitAtMost<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | 'late'> {
  const done = new AbortController();
  try {
    return await Promise.race([work, clock.sleep(ms, done.signal).then(() => 'late' as const)]);
  } finally {
    done.abort();
  }
}

/** Lets everything else that is ready run first. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
