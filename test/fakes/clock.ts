/** A clock that a test moves by hand: sleeps end when the time they asked for has been advanced past. */
import type { Clock } from '../../server/ports/clock.ts';

export type FakeClock = Clock & {
  /** Milliseconds since the start of the test. */
  nowMs(): number;
  /** Moves time; sleepers wake in the order of their times, each seeing the time it asked for. */
  advance(ms: number): Promise<void>;
  /** How many sleep. */
  sleeping(): number;
};

/** Creates a clock that stands still until it is moved. */
export function createFakeClock(): FakeClock {
  let now = 0;
  const sleepers = new Set<{ atMs: number; wake: () => void }>();

  return {
    nowMs: () => now,
    monotonicMs: () => now,
    sleeping: () => sleepers.size,
    sleep(ms, signal) {
      if (signal?.aborted || ms <= 0) return Promise.resolve();
      return new Promise((resolve) => {
        const sleeper = {
          atMs: now + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', sleeper.wake);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', sleeper.wake, { once: true });
      });
    },
    async advance(ms) {
      const untilMs = now + ms;
      for (;;) {
        const next = [...sleepers].filter((one) => one.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
        if (!next) break;
        now = next.atMs;
        next.wake();
        await settleMicrotasks();
      }
      now = untilMs;
      await settleMicrotasks();
    },
  };
}

/** Lets everything that waits on nothing but promises run on. */
export async function settleMicrotasks(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
