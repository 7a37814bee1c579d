/**
 * Since when this process has swept without a pause. During a pause no agent can be contacted, so a pause
 * does not count as an agent's missing contact.
 */
import { STORE_LIMITS } from '../../ports/limits.ts';

export type SweepTimes = {
  /** Notes a sweep that the store has answered. */
  note(nowMs: number): void;
  /** Store time at which sweeping began, or resumed after a pause; `nowMs` during a pause. */
  resumedMs(nowMs: number): number;
};

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
