/**
 * The real clock: waits with Node's timers and measures with the monotonic clock. A wait may be longer than
 * the longest timer.
 */
import type { Clock } from '../ports/clock.ts';

/** Node's longest timer. A longer delay would fire at once. */
const TIMER_MAX_MS = 2_147_483_647;
/** Longer waits do not keep the process alive, so a shutdown does not wait for them. */
const KEEP_ALIVE_MAX_MS = 5_000;

export function createClock(): Clock {
  return { sleep, monotonicMs: () => performance.now() };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted || !(ms > 0)) return Promise.resolve();
  return new Promise((resolve) => {
    const endMs = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const start = (remainingMs: number): void => {
      timer = setTimeout(() => onTimer(), Math.min(Math.ceil(remainingMs), TIMER_MAX_MS));
      if (remainingMs > KEEP_ALIVE_MAX_MS) timer.unref();
    };
    const onTimer = (): void => {
      const remainingMs = endMs - performance.now();
      if (remainingMs > 0) start(remainingMs);
      else finish();
    };
    signal?.addEventListener('abort', finish, { once: true });
    start(ms);
  });
}
