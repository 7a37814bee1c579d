/**
 * The real clock: waits on Node's timers, measures on the monotonic clock. Waits of any length are right, also those
 * that a timer cannot hold.
 */
import type { Clock } from '../ports/clock.ts';

/** Node's timers take no more; `setTimeout` with a longer delay fires at once. */
const TIMER_MAX_MS = 2_147_483_647;
/** A wait longer than a shutdown takes does not keep the process alive. */
const HOLDS_PROCESS_MAX_MS = 5_000;

/** Creates the real clock. */
export function createClock(): Clock {
  return { sleep, monotonicMs: () => performance.now() };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted || !(ms > 0)) return Promise.resolve();
  return new Promise((resolve) => {
    const endMs = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const wake = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const arm = (leftMs: number): void => {
      timer = setTimeout(() => check(), Math.min(Math.ceil(leftMs), TIMER_MAX_MS));
      if (leftMs > HOLDS_PROCESS_MAX_MS) timer.unref();
    };
    const check = (): void => {
      const leftMs = endMs - performance.now();
      if (leftMs > 0) arm(leftMs);
      else wake();
    };
    signal?.addEventListener('abort', wake, { once: true });
    arm(ms);
  });
}
