/**
 * One deadline for all store calls and tries of a call: 4.5 s, then the caller is told that the store is not
 * answering, so that a 503 leaves within five seconds whatever the store does.
 */
import type { Clock } from '../ports/clock.ts';
import { StoreUnavailable } from '../ports/store.ts';

/** How long a call's work on the store may take in all. */
export const ANSWER_WITHIN_MS = 4_500;

/** Wraps each function so that it answers in time. */
export function answerInTime<T extends Record<string, (...args: never[]) => Promise<unknown>>>(
  clock: Clock,
  calls: T,
): T {
  const wrapped = Object.entries(calls).map(([name, call]) => [
    name,
    async (...args: never[]) => {
      return await raceDeadline(clock, call(...args), ANSWER_WITHIN_MS);
    },
  ]);
  return Object.fromEntries(wrapped) as T;
}

async function raceDeadline<T>(clock: Clock, work: Promise<T>, withinMs: number): Promise<T> {
  const done = new AbortController();
  const late = clock.sleep(withinMs, done.signal).then(() => {
    if (done.signal.aborted) return undefined as never;
    throw new StoreUnavailable('The store did not answer in time; whether the change was made is unknown.');
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}
