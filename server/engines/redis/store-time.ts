/**
 * Store time is TIME of Redis, as it is. Between two readings of TIME this process counts on by its monotonic
 * clock. If the clock of Redis is set forward, tasks end early; if it is set back, they end late by the step.
 * Stamps of events and endings never fall (`scripts/operations.lua`).
 */
import type { Clock } from '../../ports/clock.ts';

export type StoreTime = {
  /** Whole milliseconds since the Unix epoch. The time falls only if the clock of Redis was set back. */
  nowMs(): number;
  /** The time argument of a script: empty for TIME. A test gives its own time. */
  argument(): string;
  /** Takes TIME from the reply to a call that was sent at `sentMs` (monotonic). */
  learn(redisMs: number, sentMs: number): void;
  /** Says what a person should set right; null if all is well. */
  warning(): string | null;
};

/** A smaller fall is only due to the delay of replies. */
const SET_BACK_MS = 1_000;
/** Clocks of two hosts that differ by less than this count as equal. */
const AGREE_WITHIN_MS = 60_000;

/** `wallMs` is the clock of this host in epoch milliseconds. */
export function createStoreTime(clock: Clock, wallMs: () => number): StoreTime {
  /** What to add to the monotonic clock; null before the first reading. */
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

/** A time that a test moves by hand. Every script gets this time. */
export function createTestTime(nowMs: () => number): StoreTime {
  return { nowMs, argument: () => String(nowMs()), learn: () => undefined, warning: () => null };
}
