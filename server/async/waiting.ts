/** Waiting with a bound: for work that may take too long, for a signal, for the event loop. */
import type { Clock } from '../ports/clock.ts';

/**
 * Settles as the work does, or resolves with `late` when the work takes longer than `ms`. Late work goes on.
 */
export async function waitAtMost<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | 'late'> {
  const done = new AbortController();
  try {
    return await Promise.race([work, clock.sleep(ms, done.signal).then(() => 'late' as const)]);
  } finally {
    done.abort();
  }
}

/** Rejects with the error when the signal fires; never resolves. */
export function rejectOnAbort(signal: AbortSignal, error: Error): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(error);
    else signal.addEventListener('abort', () => reject(error), { once: true });
  });
}

/** Resolves when everything now ready to run has run. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
