/**
 * Joins the calls of one kind that are made in one turn of the event loop: they are sent as one, and equal
 * ones are sent once. A call is sent after the turn in which it is made, so its reply is never older than the
 * call.
 */
export type TurnCalls<T> = {
  /** Makes a call by its arguments; `callers` of equal arguments in one turn share its result. */
  run(args: readonly string[]): Promise<T>;
};

/** Calls that are sent together: what one reply has room for. */
const CALLS_MAX = 64;

type Call<T> = PromiseWithResolvers<T> & { readonly args: readonly string[] };

/** Creates it; `send` gets the arguments of all calls, one after the other, and returns a result for each. */
export function createTurnCalls<T>(send: (args: readonly string[]) => Promise<readonly T[]>): TurnCalls<T> {
  let calls = new Map<string, Call<T>>();

  function sendAll(): void {
    const all = [...calls.values()];
    calls = new Map();
    for (let from = 0; from < all.length; from += CALLS_MAX) void sendSome(all.slice(from, from + CALLS_MAX));
  }

  async function sendSome(some: readonly Call<T>[]): Promise<void> {
    try {
      const results = await send(some.flatMap(({ args }) => args));
      for (const [index, { resolve }] of some.entries()) resolve(results[index] as T);
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }

  return {
    run(args) {
      const name = JSON.stringify(args);
      const shared = calls.get(name);
      if (shared) return shared.promise;
      if (calls.size === 0) setImmediate(sendAll);
      const call = { ...Promise.withResolvers<T>(), args };
      calls.set(name, call);
      return call.promise;
    },
  };
}
