/** Times of a timeline in words: offsets from the submission, gaps, and the labels of the axis. Pure. */
import { formatAge, formatDuration } from '../parts/format.ts';

/** Formats an offset to the millisecond: `+0.002 s`, `+1:17.418`, `+2:14:10`. */
export function formatOffset(seconds: number): string {
  const ms = Math.round(seconds * 1_000);
  if (ms < 60_000) return `+${(ms / 1_000).toFixed(3)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `+${minutes}:${((ms % 60_000) / 1_000).toFixed(3).padStart(6, '0')}`;
  const whole = Math.round(ms / 1_000);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `+${Math.floor(whole / 3_600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

/** Formats a gap; empty under half a millisecond. */
export function formatGap(seconds: number): string {
  if (seconds < 0.0005) return '';
  // Up to a minute tenths are shown, because people read gaps exactly.
  return seconds >= 9.95 && seconds < 59.95 ? `${seconds.toFixed(1)} s` : formatDuration(seconds);
}

/** Formats how long a phase was. A phase that goes on is in whole seconds, like an age. */
export function formatPhase(seconds: number, isOpen: boolean): string {
  return isOpen && seconds >= 1 ? formatAge(seconds) : formatDuration(seconds);
}

/** Formats a label of the axis: `0`, `200 ms`, `1.5 s`, `30 s`, `1 min 15 s`. */
export function formatTick(seconds: number): string {
  if (seconds === 0) return '0';
  if (seconds < 1) return `${Number((seconds * 1_000).toPrecision(3))} ms`;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  return formatDuration(seconds);
}
