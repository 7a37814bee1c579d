/**
 * A queue for passes over values above 64 KiB, such as parsing or rendering a value of 1 MiB. A pass holds
 * the event loop for milliseconds; parsing, for tens of milliseconds. One pass runs at a time, in the order
 * of the calls, and all other work of the process runs in between. For example, a small call beside twenty
 * large bodies waits for one body, not for twenty.
 */
import { isLargeValue } from '../domain/value-size.ts';
import { yieldToEventLoop } from './waiting.ts';

export type LargeWork = {
  /**
   * Does the work when all earlier work is done, and settles as the work does. Work must not wait for other
   * work of this queue.
   */
  run<T>(work: () => T | Promise<T>): Promise<T>;
};

export function createLargeWork(): LargeWork {
  let last: Promise<void> = Promise.resolve();
  return {
    async run(work) {
      const before = last;
      const done = Promise.withResolvers<void>();
      last = done.promise;
      await before;
      try {
        return await work();
      } finally {
        void yieldToEventLoop().then(done.resolve);
      }
    },
  };
}

/**
 * Does a pass over a value: through the queue if the value is large, else at once. A pass done at once
 * returns its result without a promise, so that the caller awaits only when it must.
 */
export function passOver<T>(work: LargeWork, value: unknown, pass: (isLarge: boolean) => T): T | Promise<T> {
  return isLargeValue(value) ? work.run(() => pass(true)) : pass(false);
}
