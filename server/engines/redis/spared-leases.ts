/**
 * The leases after an outage. No process could renew one meanwhile, so all have run out, although those that
 * hold them go on with what they do, such as a push that waits for its response. So a process whose sweeps
 * had no reply for about as long as a lease takes nothing when it is connected again, until each other one
 * had the time to renew its own.
 */
import type { Clock } from '../../ports/clock.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';

export type SparedLeases = {
  /** Notes that a sweep had its reply. */
  noteSweep(): void;
  /** Notes that there is a connection again. */
  noteReopened(): void;
  /** Whether nothing is taken now. */
  areSpared(): boolean;
};

/** Others connect again within a pause between attempts, and renew within this after it. */
const SPARED_MS = 2 * STORE_LIMITS.renewLeaseEveryMs;
/** After a gap in which no lease ran out there is nothing to spare. */
const GAP_MS = STORE_LIMITS.leaseMs - STORE_LIMITS.renewLeaseEveryMs;

/** Creates it: the process has just begun, and spares none. */
export function createSparedLeases(clock: Clock): SparedLeases {
  let sweptMs = clock.monotonicMs();
  let untilMs = Number.NEGATIVE_INFINITY;
  return {
    noteSweep() {
      sweptMs = clock.monotonicMs();
    },
    noteReopened() {
      const nowMs = clock.monotonicMs();
      if (nowMs - sweptMs >= GAP_MS) untilMs = nowMs + SPARED_MS;
    },
    areSpared: () => clock.monotonicMs() < untilMs,
  };
}
