/**
 * The leases after an outage. No process could renew one meanwhile, so all have run out, although those that
 * hold them go on with what they do, such as a push that waits for its response. So a process takes nothing
 * for a moment after it, in which each other one can renew its own:
 *
 *   the connection was lost    from when there is one again
 *   Redis stood still          from the late reply; the call itself takes nothing (`scripts/take_due.lua`)
 *
 * If the next sweep is late too, Redis is slow, and what is due must not wait for ever: that one takes.
 */
import type { Clock } from '../../ports/clock.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';

export type SparedLeases = {
  /** Notes the reply to a sweep that was sent at this monotonic time. */
  noteSwept(sentMs: number): void;
  /** Notes that there is a connection again. */
  noteReopened(): void;
  /** Whether nothing is taken now. */
  areSpared(): boolean;
  /** Whether a sweep takes also if it is late. */
  mayBeLate(): boolean;
};

/** After a gap that is shorter no lease has run out. */
export const LEASE_GAP_MS = STORE_LIMITS.leaseMs - STORE_LIMITS.renewLeaseEveryMs;
/**
 * How long a process may take to renew after another one is connected again: a pause between attempts to
 * connect (0.4 s), a pause after a duty that failed (0.25 s), and the time between two renewals.
 */
const SPARED_MS = 650 + STORE_LIMITS.renewLeaseEveryMs;

/** Creates it: the process has just begun, and spares none. */
export function createSparedLeases(clock: Clock): SparedLeases {
  let sweptMs = clock.monotonicMs();
  let untilMs = Number.NEGATIVE_INFINITY;
  let wasLate = false;

  /** Whether leases may have run out since then. */
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
