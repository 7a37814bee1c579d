/**
 * Lets work begin in its order while the bytes of what is under way fit a budget. Work that is larger than
 * the whole budget runs alone.
 */
export type ByteBudget = {
  /** Resolves or rejects as the work does, which begins when there is room. `signal`: it never begins. */
  run<T>(bytes: number, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
};

type Waiting = { readonly bytes: number; readonly signal: AbortSignal; begin(): void };

/** Creates a budget of which nothing is in use. Memory grows with the work that waits. */
export function createByteBudget(bytesMax: number): ByteBudget {
  const queue: Waiting[] = [];
  let used = 0;

  function beginNext(): void {
    for (let next = queue[0]; next; next = queue[0]) {
      if (!next.signal.aborted && used > 0 && used + next.bytes > bytesMax) return;
      queue.shift();
      if (!next.signal.aborted) next.begin();
    }
  }

  return {
    run<T>(bytes: number, work: () => Promise<T>, signal: AbortSignal) {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      queue.push({
        bytes,
        signal,
        begin() {
          used += bytes;
          work()
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
