/**
 * The store's time as this process measures it: bounds of an offset to its monotonic clock. Each reply with
 * the store's time narrows them: Redis read its clock after the call was sent and before the reply came. A
 * slow network only leaves them wide. If a reply contradicts them, a clock has stepped.
 */
import type { Clock } from '../../../ports/clock.ts';
import { CLOCK_STEP_MS } from '../scripts.ts';

/** A sample of the store's time: the reply of Redis to a call of `sentMs` (monotonic). */
export type Sample = { readonly storeMs: number; readonly sentMs: number };

export type StoreTime = {
  /** Whole milliseconds since the Unix epoch; never falls. Meaningless before the first `learn`. */
  nowMs(): number;
  /** Between them lies the store's time now and when a call of now arrives; null before `learn`. */
  bounds(): { readonly earliestMs: number; readonly latestMs: number } | null;
  /** By how much a sample of just now lies outside; 0 if it agrees, or if no other is known yet. */
  measureStep(sample: Sample): number;
  /** Takes a sample of just now; the bounds move no further than it requires. */
  learn(sample: Sample): void;
  /** Takes a sample of just now and forgets all others. */
  relearn(sample: Sample): void;
};

/** Two monotonic clocks drift apart by less than this share of the time since they were compared. */
const DRIFT_SHARE = 0.0005;

/** Creates it without a sample. */
export function createStoreTime(clock: Clock): StoreTime {
  let known: { readonly lowMs: number; readonly highMs: number; readonly atMs: number } | null = null;
  /** How long the last reply took: the next call may be on its way as long. */
  let tripMs = 0;
  let lastMs = 0;

  /** The bounds of the offset that a sample received now allows. Redis reports whole milliseconds. */
  const boundsOf = ({ storeMs, sentMs }: Sample) => ({
    lowMs: storeMs - clock.monotonicMs(),
    highMs: storeMs + 1 - sentMs,
  });
  const driftMs = (): number => (known ? (clock.monotonicMs() - known.atMs) * DRIFT_SHARE : 0);

  function relearn(sample: Sample): void {
    const { lowMs, highMs } = boundsOf(sample);
    known = { lowMs, highMs, atMs: clock.monotonicMs() };
    tripMs = highMs - lowMs;
  }

  return {
    nowMs() {
      const offsetMs = known ? (known.lowMs + known.highMs) / 2 : 0;
      lastMs = Math.max(lastMs, Math.floor(offsetMs + clock.monotonicMs()));
      return lastMs;
    },
    bounds() {
      if (!known) return null;
      const atMs = clock.monotonicMs();
      return {
        earliestMs: Math.floor(known.lowMs + atMs - driftMs()),
        latestMs: Math.ceil(known.highMs + atMs + driftMs() + CLOCK_STEP_MS + tripMs),
      };
    },
    measureStep(sample) {
      if (!known) return 0;
      const { lowMs, highMs } = boundsOf(sample);
      const outsideMs = Math.max(lowMs - known.highMs, known.lowMs - highMs);
      if (outsideMs <= CLOCK_STEP_MS + driftMs()) return 0;
      return Math.round((lowMs + highMs - known.lowMs - known.highMs) / 2);
    },
    learn(sample) {
      if (!known) return relearn(sample);
      const { lowMs, highMs } = boundsOf(sample);
      const clamp = (ms: number): number => Math.min(highMs, Math.max(lowMs, ms));
      known = { lowMs: clamp(known.lowMs), highMs: clamp(known.highMs), atMs: clock.monotonicMs() };
      tripMs = highMs - lowMs;
    },
    relearn,
  };
}
