/**
 * Lets work begin while the bytes of what is under way fit a budget: callers in rotation (`rotation.ts`), the
 * work of each in its order. The next piece waits until there is room for it and is not overtaken; if it is
 * larger than the whole budget, it runs alone. For example, with a budget of 48 MiB two pieces of 20 MiB run
 * at once, and a third one waits for the end of either.
 */
import type { Caller } from '../ports/caller.ts';
import { createRotation } from './rotation.ts';

export type ByteBudget = {
  /** Resolves or rejects as the work does, which begins when there is room. `signal`: it never begins. */
  run<T>(work: SizedWork<T>, signal: AbortSignal): Promise<T>;
};

/** Work on this many bytes, and for whom. */
export type SizedWork<T> = { readonly bytes: number; readonly caller: Caller; start(): Promise<T> };

type Waiting = { readonly bytes: number; readonly signal: AbortSignal; begin(): void };

/** Creates a budget of which nothing is in use. Memory grows with the work that waits. */
export function createByteBudget(bytesMax: number): ByteBudget {
  const waiting = createRotation<Waiting>();
  let next: Waiting | undefined;
  let used = 0;

  function beginNext(): void {
    for (next ??= waiting.take(); next; next = waiting.take()) {
      if (next.signal.aborted) continue;
      if (used > 0 && used + next.bytes > bytesMax) return;
      next.begin();
    }
  }

  return {
    run<T>({ bytes, caller, start }: SizedWork<T>, signal: AbortSignal) {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      waiting.add(caller, {
        bytes,
        signal,
        begin() {
          used += bytes;
          // Also what throws before it returns a promise gives its bytes back.
          (async () => await start())()
            .then(resolve, reject)
            .finally(() => {
              used -= bytes;
              beginNext();
            });
        },
      });
      beginNext();
      return promise;
    },
  };
}
