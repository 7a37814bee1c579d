/**
 * Since when this process sweeps without a pause. While nothing sweeps, no agent can be contacted: so that
 * time does not count as one in which an agent was unavailable.
 */
import { STORE_LIMITS } from '../../ports/limits.ts';

export type SweepTimes = {
  /** Notes a sweep that the store has answered. */
  note(nowMs: number): void;
  /** Store time at which sweeping began, or went on after a pause; `nowMs` during a pause. */
  resumedMs(nowMs: number): number;
};

/** Creates it: there was no sweep yet. */
export function createSweepTimes(): SweepTimes {
  let lastMs = Number.NEGATIVE_INFINITY;
  let beganMs = 0;
  const isPaused = (nowMs: number): boolean => nowMs - lastMs > STORE_LIMITS.sweepGapMs;
  return {
    note(nowMs) {
      if (isPaused(nowMs)) beganMs = nowMs;
      lastMs = nowMs;
    },
    resumedMs: (nowMs) => (isPaused(nowMs) ? nowMs : beganMs),
  };
}
