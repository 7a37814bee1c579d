/**
 * Lets work begin, in its order, while the bytes of what is under way fit a budget. The next piece waits
 * until they do and is not overtaken; if it is larger than the whole budget, it runs alone. For example, with
 * a budget of 48 MiB two pieces of 20 MiB run at once, and a third one waits for the end of either.
 */
export type ByteBudget = {
  /** Resolves or rejects as the work does, which begins when there is room. `signal`: it never begins. */
  run<T>(work: SizedWork<T>, signal: AbortSignal): Promise<T>;
};

/** Work on this many bytes. */
export type SizedWork<T> = { readonly bytes: number; start(): Promise<T> };

type Waiting = { readonly bytes: number; readonly signal: AbortSignal; begin(): void };

/** Creates a budget of which nothing is in use. Memory grows with the work that waits. */
export function createByteBudget(bytesMax: number): ByteBudget {
  const waiting = new Set<Waiting>();
  let used = 0;

  function beginNext(): void {
    for (const next of waiting) {
      if (!next.signal.aborted && used > 0 && used + next.bytes > bytesMax) return;
      waiting.delete(next);
      if (!next.signal.aborted) next.begin();
    }
  }

  return {
    run<T>({ bytes, start }: SizedWork<T>, signal: AbortSignal) {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      waiting.add({
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
