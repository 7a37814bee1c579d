/**
 * The store's time is TIME of Redis, as it is. Between two looks at it this process goes on by its monotonic
 * clock. A clock of Redis that is set forward ends tasks early; one that is set back makes them late by the
 * step. Stamps of events and endings never fall (`scripts/operations.lua`).
 */
import type { Clock } from '../../ports/clock.ts';

export type StoreTime = {
  /** Whole milliseconds since the Unix epoch; falls only where the clock of Redis was set back. */
  nowMs(): number;
  /** The time argument of a script: empty, so that it takes TIME; a test gives its own time. */
  argument(): string;
  /** Takes TIME from the reply to a call that was sent at `sentMs` (monotonic). */
  learn(redisMs: number, sentMs: number): void;
  /** Says what a person should set right; null when all is well. */
  warning(): string | null;
};

/** A smaller fall comes of the network alone. */
const SET_BACK_MS = 1_000;
/** The clocks of two hosts that differ by less than this agree. */
const AGREE_WITHIN_MS = 60_000;

/** Creates it without a look; `wallMs` is the clock of this host, epoch milliseconds. */
export function createStoreTime(clock: Clock, wallMs: () => number): StoreTime {
  /** To the monotonic clock; null before the first look. */
  let offsetMs: number | null = null;
  let lastMs = 0;
  let aheadMs = 0;
  return {
    nowMs() {
      const ms = Math.floor((offsetMs ?? 0) + clock.monotonicMs());
      lastMs = lastMs - ms > SET_BACK_MS ? ms : Math.max(lastMs, ms);
      return lastMs;
    },
    argument: () => '',
    learn(redisMs, sentMs) {
      // Redis read its clock after the call was sent and before the reply came.
      const [leastMs, mostMs] = [redisMs - clock.monotonicMs(), redisMs + 1 - sentMs];
      offsetMs = Math.min(mostMs, Math.max(leastMs, offsetMs ?? (leastMs + mostMs) / 2));
      aheadMs = redisMs - wallMs();
    },
    warning() {
      if (Math.abs(aheadMs) <= AGREE_WITHIN_MS) return null;
      const seconds = Math.round(Math.abs(aheadMs) / 1_000);
      const side = aheadMs > 0 ? 'ahead of' : 'behind';
      return `The clock of Redis is ${seconds} s ${side} that of this host. Tasks end by the clock of Redis: set it right.`;
    },
  };
}

/** A time that a test moves by hand: every script is given it, and nothing is learned. */
export function createTestTime(nowMs: () => number): StoreTime {
  return { nowMs, argument: () => String(nowMs()), learn: () => undefined, warning: () => null };
}
