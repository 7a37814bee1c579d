/**
 * One time limit for all store calls and retries of a call. When it is over, the call rejects with
 * `StoreUnavailable`, so that a 503 is sent within `TIME_BUDGETS.responseWithinMs` whatever the store does.
 */
import { createDeadlineSet } from '../async/deadline-set.ts';
import type { Clock } from '../ports/clock.ts';
import { TIME_BUDGETS } from '../ports/limits.ts';
import { StoreUnavailable } from '../ports/store.ts';

type Calls = Record<string, (...args: never[]) => Promise<unknown>>;

/** Wraps each function so that its promise rejects after `TIME_BUDGETS.callWithinMs`. */
export function limitTime<T extends Calls>(clock: Clock, calls: T): T {
  const underWay = createDeadlineSet({
    clock,
    withinMs: TIME_BUDGETS.callWithinMs,
    checkEveryMs: TIME_BUDGETS.callCheckMs,
    onLate: (reject) =>
      reject(
        new StoreUnavailable('The store did not reply in time; whether the change was made is unknown.'),
      ),
  });
  const wrapped = Object.entries(calls).map(([name, call]) => [
    name,
    (...args: never[]) => underWay.run(call(...args)),
  ]);
  return Object.fromEntries(wrapped) as T;
}
