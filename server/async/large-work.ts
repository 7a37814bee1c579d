/**
 * A queue of one for passes over values above 64 KiB, such as parsing or rendering one of 1 MiB: a pass holds
 * the event loop for milliseconds, parsing for tens of them. One pass runs at a time, in the order of the
 * calls, and all other work of the process runs in between. For example, a small call beside twenty large
 * bodies waits for one of them.
 */
import { isLargeValue } from '../domain/value-size.ts';
import { yieldToEventLoop } from './waiting.ts';

export type LargeWork = {
  /** Does the work when all before it is done; settles as it does. Work must not wait for other work here. */
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
 * Does a pass over a value: in the queue if it is large. If not, it runs at once and returns the value
 * itself, so that a caller awaits only when it must.
 */
export function passOver<T>(work: LargeWork, value: unknown, pass: (isLarge: boolean) => T): T | Promise<T> {
  return isLargeValue(value) ? work.run(() => pass(true)) : pass(false);
}
