/** A clock that a test moves by hand: a sleep ends when the test has advanced the clock to its end. */
import type { Clock } from '../../server/ports/clock.ts';

export type FakeClock = Clock & {
  /** Milliseconds since the start of the test. */
  nowMs(): number;
  /** Advances the clock. Sleepers wake in the order of their times, and each sees the time it asked for. */
  advance(ms: number): Promise<void>;
  /** Advances the clock by single milliseconds until the work is done: for calls that pause between tries. */
  drive<T>(work: Promise<T>): Promise<T>;
  /** How many sleeps have not ended. */
  sleeping(): number;
};

/** Work that takes longer than this waits for something other than time. */
const DRIVE_MAX_MS = 10_000;

/** Creates a clock that stands still until it is advanced. */
export function createFakeClock(): FakeClock {
  let now = 0;
  const sleepers = new Set<{ atMs: number; wake: () => void }>();

  const clock: FakeClock = {
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
    async drive(work) {
      let done = false;
      const watched = work.finally(() => {
        done = true;
      });
      watched.catch(() => undefined);
      await flushMicrotasks();
      for (let steps = 0; !done; steps += 1) {
        if (steps > DRIVE_MAX_MS) throw new Error(`Not done after ${DRIVE_MAX_MS} ms of time`);
        await clock.advance(1);
      }
      return await watched;
    },
    async advance(ms) {
      const untilMs = now + ms;
      for (;;) {
        const next = [...sleepers].filter((one) => one.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
        if (!next) break;
        now = Math.max(now, next.atMs);
        next.wake();
        await flushMicrotasks();
      }
      // A sleeper that woke may have advanced the clock further; time never goes back.
      now = Math.max(now, untilMs);
      await flushMicrotasks();
    },
  };
  return clock;
}

/** How much work is under way outside of this process. It takes real time, and none of the test's clock. */
let outside = 0;

/** Counts a piece of work outside of this process until it is done. */
export async function trackOutside<T>(work: Promise<T>): Promise<T> {
  outside += 1;
  try {
    return await work;
  } finally {
    outside -= 1;
  }
}

/** Runs everything that waits only for promises, or for work outside of this process. */
export async function flushMicrotasks(): Promise<void> {
  for (let tick = 0; tick < 12; tick += 1) {
    await takeTurn();
    if (outside === 0) continue;
    while (outside > 0) await takeTurn();
    tick = 0;
  }
}

function takeTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
