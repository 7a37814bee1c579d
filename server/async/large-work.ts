/**
 * Turns for work on large values, such as reading and rendering one of 4 MiB: it holds the event loop for tens
 * of milliseconds. Only one piece of such work runs at a time, and after each everything else gets as much
 * time as it took, so that a crowd of large calls takes no more than half of the process.
 *
 * Cost: one entry for each call that waits.
 */
import type { Clock } from '../ports/clock.ts';
import { yieldToEventLoop } from './waiting.ts';

/** Work that waits long for a store has not held the event loop as long. */
const PAUSE_MAX_MS = 100;

/**
 * What comes before what, else first come, first served: `first` is work that ends a call which holds a value
 * already, `next` is work that may turn out small, `last` is work that is known to be large.
 */
type Order = 'first' | 'next' | 'last';

export type LargeWork = {
  /** Does the work when its turn has come, and settles as it does. Work must not wait for other work here. */
  run<T>(order: Order, work: () => T | Promise<T>): Promise<T>;
};

/** Creates the turns, with nothing waiting. */
export function createLargeWork(clock: Clock): LargeWork {
  const queues: Readonly<Record<Order, (() => Promise<void>)[]>> = { first: [], next: [], last: [] };
  let isRunning = false;

  async function runAll(): Promise<void> {
    isRunning = true;
    for (;;) {
      const next = queues.first.shift() ?? queues.next.shift() ?? queues.last.shift();
      if (!next) break;
      const startedMs = clock.monotonicMs();
      await next();
      await yieldToEventLoop();
      const tookMs = clock.monotonicMs() - startedMs;
      if (tookMs > 1) await clock.sleep(Math.min(tookMs, PAUSE_MAX_MS));
    }
    isRunning = false;
  }

  return {
    run: (order, work) =>
      new Promise((resolve, reject) => {
        queues[order].push(async () => {
          try {
            resolve(await work());
          } catch (error) {
            reject(error);
          }
        });
        if (!isRunning) void runAll();
      }),
  };
}
