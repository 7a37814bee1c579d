/**
 * The calls that are under way. Each is answered, or given up: all at once when the connection is gone, or when the oldest
 * has waited too long. All have the same time, so they run out in the order in which they came, and one sleeper serves
 * them all.
 */
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../ports/clock.ts';

export type Calls = {
  /** Ends as the work does, or is rejected when it is given up; the work goes on all the same. */
  run<T>(work: Promise<T>): Promise<T>;
  /** Rejects all that are under way. */
  giveUp(error: Error): void;
  /** Resolves when those that are under way now are over. */
  whenOver(): Promise<void>;
};

type Call = {
  readonly untilMs: number;
  readonly reject: (error: Error) => void;
  /** Resolves when it was answered or given up. */
  readonly over: Promise<void>;
};

/** Creates it empty. `onLate` is called when a call has waited this long; the signal ends the waiting for it. */
export function createCalls(deps: {
  readonly clock: Clock;
  readonly withinMs: number;
  readonly onLate: () => void;
  readonly signal: AbortSignal;
}): Calls {
  const { clock, withinMs, signal } = deps;
  const calls = new Set<Call>();
  let isWatching = false;
  const oldest = (): Call | undefined => calls.values().next().value;

  async function watch(): Promise<void> {
    if (isWatching) return;
    isWatching = true;
    for (let call = oldest(); call && !signal.aborted; call = oldest()) {
      const leftMs = call.untilMs - clock.monotonicMs();
      if (leftMs > 0) {
        await clock.sleep(leftMs, signal);
        continue;
      }
      // If this process stood still itself, the answer is there and was not read yet.
      for (let turns = 0; turns < 3; turns += 1) await setImmediate();
      if (oldest() === call) deps.onLate();
    }
    isWatching = false;
  }

  return {
    async run(work) {
      const given = Promise.withResolvers<never>();
      const over = Promise.withResolvers<void>();
      const untilMs = clock.monotonicMs() + withinMs;
      const call: Call = { untilMs, reject: given.reject, over: over.promise };
      calls.add(call);
      void watch();
      try {
        return await Promise.race([work, given.promise]);
      } finally {
        calls.delete(call);
        over.resolve();
      }
    },
    giveUp(error) {
      for (const call of calls) call.reject(error);
      calls.clear();
    },
    whenOver: async () => void (await Promise.all([...calls].map(({ over }) => over))),
  };
}
