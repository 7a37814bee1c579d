/**
 * The store's clock on this side of the network: the time of Redis as an offset to the monotonic clock of the process.
 * Every answer that carries the time of Redis narrows it: that moment lay between sending and receiving.
 */
import type { Clock } from '../../ports/clock.ts';

export type StoreTime = {
  /** Whole milliseconds; never falls. */
  nowMs(): number;
  /** The time Redis told in an answer to what was sent at this monotonic moment. */
  learn(redisMs: number, sentMs: number): void;
};

/** Creates it; it tells nothing of use before it has learned. */
export function createStoreTime(clock: Clock): StoreTime {
  let offsetMs: number | null = null;
  let lastMs = 0;
  return {
    nowMs() {
      lastMs = Math.max(lastMs, Math.floor((offsetMs ?? 0) + clock.monotonicMs()));
      return lastMs;
    },
    learn(redisMs, sentMs) {
      // Redis tells whole milliseconds, so it may be almost one more.
      const leastMs = redisMs - clock.monotonicMs();
      const mostMs = redisMs + 1 - sentMs;
      offsetMs = Math.min(mostMs, Math.max(leastMs, offsetMs ?? (leastMs + mostMs) / 2));
    },
  };
}
