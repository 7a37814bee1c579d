/**
 * A real Redis whose wall clock a test sets while it runs. libfaketime can't begin below jemalloc, which asks
 * for the time while it begins, so the server gets the allocator of the C library.
 */
import { type RedisProcess, startRedis } from './redis-process.ts';
import { createSteppedClock } from './stepped-clock.ts';
import { CLOCK_LIBRARIES } from './tools.ts';

export type SteppedRedis = RedisProcess & {
  /** Sets its wall clock so many milliseconds apart from the real one. */
  setClock(shiftMs: number): void;
};

/** Starts it, with `settings` as for every Redis. Without the libraries its clock stays the real one. */
export async function startSteppedRedis(
  shiftMs = 0,
  settings: readonly string[] = [],
): Promise<SteppedRedis> {
  const clock = createSteppedClock(shiftMs, [CLOCK_LIBRARIES.allocator]);
  const redis = await startRedis(settings, undefined, clock.env);
  return {
    ...redis,
    setClock: clock.set,
    async dispose() {
      await redis.dispose();
      clock.dispose();
    },
  };
}
