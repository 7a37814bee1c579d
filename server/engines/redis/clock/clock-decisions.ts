/**
 * The reading of Redis's clock, and the two decisions about it: at which offset to it the store's time starts
 * when no gateway ran, and who is wrong when it and a running gateway disagree. Pure.
 */

/** The scripts return this about the clock (`scripts/time.lua`). */
export type ClockReading = {
  /** TIME of Redis. */
  readonly redisMs: number;
  /** The offset: the store's time is the sum of both. */
  readonly offsetMs: number;
  /** How often the offset was set. */
  readonly offsetNumber: number;
  /** Whether time was left out at the start, because two clocks did not agree about it. */
  readonly isTimeLeftOut: boolean;
  /** Store time of the last sweep by a process whose clock agreed; 0 before the first. */
  readonly agreedMs: number;
  /** The latest store time that an event or a sweep has; 0 if there is none. */
  readonly lastMs: number;
};

/** Reads what a script returned. */
export function parseClockReading(text: string): ClockReading {
  const [redisMs = 0, offsetMs = 0, offsetNumber = 0, leftOut = 0, agreedMs = 0, lastMs = 0] = text
    .split(' ')
    .map(Number);
  return { redisMs, offsetMs, offsetNumber, isTimeLeftOut: leftOut === 1, agreedMs, lastMs };
}

/** The store's time of a reading. */
export function storeMsOf({ redisMs, offsetMs }: ClockReading): number {
  return redisMs + offsetMs;
}

/**
 * A running gateway notes a sweep at most this long after it. So when the last note says 12:00:00, the
 * store's time may already be 12:00:02.5.
 */
export const SWEEP_NOTED_WITHIN_MS = 2_500;
/** Clocks of two hosts that differ by less than this agree. */
const HOSTS_AGREE_WITHIN_MS = 60_000;

/** Whether the clock of Redis and the wall clock of this host agree. */
export function checkHostsAgree({ redisMs }: ClockReading, wallMs: number): boolean {
  return Math.abs(redisMs - wallMs) <= HOSTS_AGREE_WITHIN_MS;
}

/** Whether the store's time went on from where it was: the store is new, or a gateway swept just now. */
export function checkTimeGoesOn(reading: ClockReading): boolean {
  const passedMs = storeMsOf(reading) - reading.lastMs;
  return reading.lastMs === 0 || (passedMs >= 0 && passedMs <= SWEEP_NOTED_WITHIN_MS);
}

/** An offset to set, and whether time is left out with it. */
export type ClockSetting = { readonly offsetMs: number; readonly isTimeLeftOut: boolean };

/**
 * Decides the offset with which a store starts when no gateway ran before. If the clock of Redis and this
 * host's agree, the time between counts: after a night without a gateway, tasks of the evening have expired.
 * If they differ, the store goes on from its last time, as if no time had passed. Its time never runs back:
 * of these cases the first counts in which it does not.
 *
 *   Case                                                       Offset             Time is left out
 *   Redis' clock and this host's agree                         0                  no
 *   store time (by the offset it has) and this host's agree    the one it has     no
 *   else                                                       to the last time   unless the clocks agree
 */
export function decideStart(reading: ClockReading, wallMs: number): ClockSetting {
  const { redisMs, lastMs } = reading;
  for (const offsetMs of [0, reading.offsetMs]) {
    const storeMs = redisMs + offsetMs;
    const isConfirmed = Math.abs(storeMs - wallMs) <= HOSTS_AGREE_WITHIN_MS;
    if (isConfirmed && storeMs >= lastMs) return { offsetMs, isTimeLeftOut: false };
  }
  const isTimeLeftOut = !checkHostsAgree(reading, wallMs);
  return { offsetMs: lastMs + SWEEP_NOTED_WITHIN_MS - redisMs, isTimeLeftOut };
}

/** Who is wrong when the store's time and a gateway's monotonic clock contradict each other. */
export type Disagreement = 'redis_stepped' | 'set_by_another' | 'own_clock_stood_still';

/**
 * Classifies it. `latestMs` is the latest store time that this process thinks possible now, `offsetNumber`
 * that of the offset it agreed with last.
 */
export function classifyDisagreement(
  reading: ClockReading,
  own: { readonly latestMs: number; readonly offsetNumber: number },
): Disagreement {
  if (reading.offsetNumber > own.offsetNumber) return 'set_by_another';
  // Another swept at a time that this process thinks is still to come: time passed without this one.
  const isWitnessed = reading.agreedMs > own.latestMs && reading.agreedMs <= storeMsOf(reading);
  return isWitnessed ? 'own_clock_stood_still' : 'redis_stepped';
}
