/**
 * The leases after an outage. No process could renew its leases meanwhile, so all leases have run out,
 * although their holders go on: for example, with a push that waits for its response. So after an outage a
 * process takes nothing for a moment, in which the others can renew their leases:
 *
 *   the connection was lost    from the moment when there is a connection again
 *   Redis stood still          from the late reply on; the late call takes nothing (`scripts/take_due.lua`)
 *
 * If the next sweep is late too, Redis is slow. That sweep takes entries, so that they do not wait for ever.
 */
import type { Clock } from '../../ports/clock.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';

export type SparedLeases = {
  /** Notes the reply to a sweep, which was sent at this monotonic time. */
  noteSwept(sentMs: number): void;
  /** To be called when there is a connection again. */
  noteReopened(): void;
  /** Whether the process must take nothing now. */
  areSpared(): boolean;
  /** Whether the next sweep takes entries even if it is late. */
  mayBeLate(): boolean;
};

/** In a shorter gap no lease runs out. */
export const LEASE_GAP_MS = STORE_LIMITS.leaseMs - STORE_LIMITS.renewLeaseEveryMs;
/**
 * How much later than this process another one may renew its leases: a pause between attempts to connect (0.4
 * s), a pause after a failed duty (0.25 s), and the time between two renewals.
 */
const SPARED_MS = 650 + STORE_LIMITS.renewLeaseEveryMs;

export function createSparedLeases(clock: Clock): SparedLeases {
  let sweptMs = clock.monotonicMs();
  let untilMs = Number.NEGATIVE_INFINITY;
  let wasLate = false;

  /** Whether leases may have run out since this time. If so, leases are spared from now on. */
  function noteGap(sinceMs: number): boolean {
    const nowMs = clock.monotonicMs();
    if (nowMs - sinceMs < LEASE_GAP_MS) return false;
    untilMs = nowMs + SPARED_MS;
    return true;
  }

  return {
    noteSwept(sentMs) {
      wasLate = noteGap(sentMs);
      sweptMs = clock.monotonicMs();
    },
    noteReopened: () => void noteGap(sweptMs),
    areSpared: () => clock.monotonicMs() < untilMs,
    mayBeLate: () => wasLate,
  };
}
