/**
 * Formats numbers, durations, times and ids for people. Pure. Times are epoch seconds, durations are seconds,
 * and what is printed is UTC.
 */

/** Formats a whole number with separators: `1,204`. */
export function formatNumber(value: number): string {
  return value.toLocaleString('en-US');
}

/** Formats a count: `1,000`, or `1,000+` if not all were looked at. */
export function formatLeast(count: number, { complete }: { readonly complete: boolean }): string {
  return `${formatNumber(count)}${complete ? '' : '+'}`;
}

/**
 * Formats a measured duration: `< 1 ms`, `412 ms`, `4.2 s`, `41 s`, `6 min 12 s`, `2 h 5 min`, `3 days 4 h`.
 */
export function formatDuration(seconds: number): string {
  if (seconds < 0.001) return '< 1 ms';
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  return formatWhole(Math.round(seconds));
}

/**
 * Formats how long something has lasted, in whole seconds, so that it does not flicker: `9 s`, `6 min 12 s`.
 */
export function formatAge(seconds: number): string {
  return formatWhole(Math.max(0, Math.floor(seconds)));
}

/** Like `formatAge`, but in whole minutes from ten minutes (or `from` seconds) on, to be read at a glance. */
export function formatCoarse(seconds: number, from = 600): string {
  const whole = Math.max(0, Math.floor(seconds));
  return whole >= from && whole < 3600 ? `${Math.floor(whole / 60)} min` : formatWhole(whole);
}

/** Formats `9 s ago`, in whole minutes from ten minutes on. */
export function formatAgo(seconds: number): string {
  return `${formatCoarse(seconds)} ago`;
}

function formatWhole(whole: number): string {
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return joinUnits(Math.floor(whole / 60), 'min', whole % 60, 's');
  const minutes = Math.floor(whole / 60);
  if (minutes < 1440) return joinUnits(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  return joinUnits(days, days === 1 ? 'day' : 'days', hours % 24, 'h');
}

function joinUnits(major: number, majorUnit: string, minor: number, minorUnit: string): string {
  return minor === 0 ? `${major} ${majorUnit}` : `${major} ${majorUnit} ${minor} ${minorUnit}`;
}

/** Formats the time of day in UTC: `00:14:32`; with milliseconds `00:14:32.004`. */
export function formatClock(time: number, { ms = false } = {}): string {
  return writeIso(time).slice(11, ms ? 23 : 19);
}

/** Formats a day and a time in UTC: `Nov 19 23:17 UTC`; with the year if it is not the year of `now`. */
export function formatDate(time: number, now: number): string {
  const iso = writeIso(time);
  const month = MONTHS[Number(iso.slice(5, 7)) - 1] ?? '';
  const year = iso.slice(0, 4) === writeIso(now).slice(0, 4) ? '' : ` ${iso.slice(0, 4)}`;
  return `${month} ${Number(iso.slice(8, 10))}${year} ${iso.slice(11, 16)} UTC`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** The latest time that a `Date` can hold, in seconds. A later time is printed as this one. */
const TIME_MAX = 8.64e12;

function writeIso(time: number): string {
  const seconds = Number.isFinite(time) ? Math.min(Math.max(time, 0), TIME_MAX) : 0;
  const iso = new Date(seconds * 1000).toISOString();
  return iso.startsWith('+') ? iso.slice(3) : iso;
}

/** Cuts a task's id to its end, by which tasks of one time differ: `…6f1c2ab9`. A short id stays whole. */
export function tailOf(request_id: string): string {
  return request_id.length > 9 ? `…${request_id.slice(-8)}` : request_id;
}

/** Formats a number of bytes: `133 B`, `2.1 KB`, `3.4 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999_950) return `${(bytes / 1000).toFixed(1)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Formats a number with its noun: `1 task`, `3 tasks`. */
export function formatCount(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatNumber(count)} ${count === 1 ? singular : plural}`;
}
