/**
 * The store's clock on this side of the network: the time of Redis, as an offset to the monotonic clock of
 * the process. Each reply that carries the time of Redis corrects the offset, because that time lies between
 * sending and receiving.
 */
import type { Clock } from '../../ports/clock.ts';

export type StoreTime = {
  /** Whole milliseconds since the Unix epoch; never falls. Meaningless before the first `learn`. */
  nowMs(): number;
  /** Takes the time of Redis from the reply to a command that was sent at `sentMs` by the monotonic clock. */
  learn(redisMs: number, sentMs: number): void;
};

/** Creates a clock that has learned nothing yet. */
export function createStoreTime(clock: Clock): StoreTime {
  let offsetMs: number | null = null;
  let lastMs = 0;
  return {
    nowMs() {
      lastMs = Math.max(lastMs, Math.floor((offsetMs ?? 0) + clock.monotonicMs()));
      return lastMs;
    },
    learn(redisMs, sentMs) {
      // Redis reports whole milliseconds, so its time may be almost one more.
      const leastMs = redisMs - clock.monotonicMs();
      const mostMs = redisMs + 1 - sentMs;
      offsetMs = Math.min(mostMs, Math.max(leastMs, offsetMs ?? (leastMs + mostMs) / 2));
    },
  };
}
