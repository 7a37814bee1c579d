/** A clock that a test moves by hand: sleeps end when the time they asked for has been advanced past. */
import type { Clock } from '../../server/ports/clock.ts';

export type FakeClock = Clock & {
  /** Milliseconds since the start of the test. */
  nowMs(): number;
  /** Moves time; sleepers wake in the order of their times, each seeing the time it asked for. */
  advance(ms: number): Promise<void>;
  /** Moves time by milliseconds until the work is done: for calls that pause between tries. */
  drive<T>(work: Promise<T>): Promise<T>;
  /** How many sleep. */
  sleeping(): number;
};

/** Work that pauses longer than this is waiting for something else than time. */
const DRIVE_MAX_MS = 10_000;

/** Creates a clock that stands still until it is moved. */
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
      await settleMicrotasks();
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
        await settleMicrotasks();
      }
      // Somebody may have moved it further meanwhile; time never goes back.
      now = Math.max(now, untilMs);
      await settleMicrotasks();
    },
  };
  return clock;
}

/** How much is under way outside of this process: what is waited for there takes real time and none of the test's. */
let outside = 0;

/** Counts a piece of work outside of this process for as long as it takes. */
export async function trackOutside<T>(work: Promise<T>): Promise<T> {
  outside += 1;
  try {
    return await work;
  } finally {
    outside -= 1;
  }
}

/** Lets everything run on that waits on nothing but promises, or on work outside. */
export async function settleMicrotasks(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) {
    await takeTurn();
    if (outside === 0) continue;
    while (outside > 0) await takeTurn();
    turn = 0;
  }
}

function takeTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
