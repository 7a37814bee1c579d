/**
 * Durations in words, as a person reads them: `800 ms`, `4.2 s`, `6 min 12 s`, `27 min`, `3 h 5 min`. Pure.
 */

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Describes a duration of 0 ms or more; from 10 minutes on without seconds. */
export function describeDuration(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND_MS) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < 10 * MINUTE_MS) return join(ms, MINUTE_MS, 'min', SECOND_MS, 's');
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  return ms < DAY_MS ? join(ms, HOUR_MS, 'h', MINUTE_MS, 'min') : join(ms, DAY_MS, 'd', HOUR_MS, 'h');
}

function join(ms: number, largeMs: number, large: string, smallMs: number, small: string): string {
  const rest = Math.floor((ms % largeMs) / smallMs);
  return `${Math.floor(ms / largeMs)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}
