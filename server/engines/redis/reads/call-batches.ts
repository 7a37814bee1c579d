/**
 * Sends calls of one kind as one script: those of one tick of the event loop, or all that come while two
 * scripts are under way, in their order. Equal calls are sent once: when ten streams read one task in a tick,
 * it is read once. A call is sent after it is made, so its reply is never older than the call.
 */
export type CallBatches<T> = {
  /** Makes a call by its arguments. If an equal call waits to be sent, both share its result. */
  run(args: readonly string[]): Promise<T>;
};

/** Calls of one script: as many as one reply has room for. */
const CALLS_MAX = 64;
const UNDER_WAY_MAX = 2;

type Call<T> = PromiseWithResolvers<T> & { readonly args: readonly string[] };

/** Creates it; `send` gets the arguments of all calls, one after the other, and returns a result for each. */
export function createCallBatches<T>(
  send: (args: readonly string[]) => Promise<readonly T[]>,
): CallBatches<T> {
  const waiting = new Map<string, Call<T>>();
  let underWay = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || waiting.size === 0 || underWay >= UNDER_WAY_MAX) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      while (waiting.size > 0 && underWay < UNDER_WAY_MAX) void sendSome(takeSome());
    });
  }

  function takeSome(): readonly Call<T>[] {
    const some = [...waiting].slice(0, CALLS_MAX);
    for (const [name] of some) waiting.delete(name);
    return some.map(([, call]) => call);
  }

  async function sendSome(some: readonly Call<T>[]): Promise<void> {
    underWay += 1;
    try {
      const results = await send(some.flatMap(({ args }) => args));
      for (const [index, { resolve }] of some.entries()) resolve(results[index] as T);
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
    underWay -= 1;
    schedule();
  }

  return {
    run(args) {
      const name = JSON.stringify(args);
      const shared = waiting.get(name);
      if (shared) return shared.promise;
      const call = { ...Promise.withResolvers<T>(), args };
      waiting.set(name, call);
      schedule();
      return call.promise;
    },
  };
}
