/**
 * One deadline for all store calls and tries of a call: 4.5 s, then the caller is told that the store is not
 * answering, so that a 503 leaves within five seconds whatever the store does.
 *
 * All calls have the same time, so they run out in the order in which they came: one look every quarter of a second
 * at the oldest serves them all, and a call costs no timer of its own.
 */
import type { Clock } from '../ports/clock.ts';
import { StoreUnavailable } from '../ports/store.ts';

/** How long a call's work on the store may take in all; it is noticed within a quarter of a second. */
export const ANSWER_WITHIN_MS = 4_250;
const LOOK_EVERY_MS = 250;

type Calls = Record<string, (...args: never[]) => Promise<unknown>>;
type Waiting = { readonly untilMs: number; readonly giveUp: (error: StoreUnavailable) => void };

/** Wraps each function so that it answers in time. */
export function limitTime<T extends Calls>(clock: Clock, calls: T): T {
  const waiting = new Set<Waiting>();
  let looking = false;

  async function look(): Promise<void> {
    looking = true;
    while (waiting.size > 0) {
      await clock.sleep(LOOK_EVERY_MS);
      for (const call of waiting) {
        if (call.untilMs > clock.monotonicMs()) break;
        waiting.delete(call);
        call.giveUp(
          new StoreUnavailable('The store did not answer in time; whether the change was made is unknown.'),
        );
      }
    }
    looking = false;
  }

  function race<R>(work: Promise<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      const call: Waiting = { untilMs: clock.monotonicMs() + ANSWER_WITHIN_MS, giveUp: reject };
      waiting.add(call);
      if (!looking) void look();
      work.then(resolve, reject).finally(() => waiting.delete(call));
    });
  }

  const wrapped = Object.entries(calls).map(([name, call]) => [
    name,
    (...args: never[]) => race(call(...args)),
  ]);
  return Object.fromEntries(wrapped) as T;
}
