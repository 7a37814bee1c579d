/**
 * A timer that visits each of many things, again and again. After some hundreds of visits it lets everything
 * else run, so that even very many visits delay nothing.
 */
import type { Clock } from '../ports/clock.ts';
import { yieldToEventLoop } from './waiting.ts';

/** After this many visits everything else may run. */
const VISITS_PER_TURN = 500;

export type Visits = {
  /** Idempotent. */
  start(): void;
  /** Idempotent. */
  stop(): void;
};

/** Creates the timer, which runs from `start()` on. A visit must not throw. */
export function createVisits<T>(
  clock: Clock,
  everyMs: number,
  things: Iterable<T>,
  visit: (thing: T) => void,
): Visits {
  let running: AbortController | null = null;

  async function run(stopped: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(everyMs, stopped);
      if (stopped.aborted) return;
      let visited = 0;
      for (const thing of things) {
        visited += 1;
        if (visited % VISITS_PER_TURN === 0) await yieldToEventLoop();
        visit(thing);
      }
    }
  }

  return {
    start() {
      if (running) return;
      running = new AbortController();
      void run(running.signal);
    },
    stop() {
      running?.abort();
      running = null;
    },
  };
}
