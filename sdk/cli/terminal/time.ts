/** Renders moments and ages for people. Times on the wire are seconds since the Unix epoch. */

/** The last moment that a `Date` can hold. */
const SECONDS_MAX = 8_640_000_000_000;

/** Formats a moment as a UTC time; as a dash if no clock can show it. */
export function formatTime(seconds: number, precision: 'seconds' | 'milliseconds'): string {
  if (!(Math.abs(seconds) <= SECONDS_MAX)) return '–';
  const text = new Date(seconds * 1_000).toISOString();
  return precision === 'seconds' ? text.replace(/\.\d+Z$/, 'Z') : text;
}

/** Formats seconds as an age, in the largest unit that keeps some precision. */
export function formatAge(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole} s ago`;
  if (whole < 7_200) return `${Math.round(whole / 60)} min ago`;
  if (whole < 172_800) return `${Math.round(whole / 3_600)} h ago`;
  return `${Math.round(whole / 86_400)} d ago`;
}
