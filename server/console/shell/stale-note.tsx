/** The note above data that is not current: how old the data is, and that actions are off. */
import type { VNode } from 'preact';
import { useConsole } from '../gateway/console.ts';
import { formatAge, formatClock } from '../parts/format.ts';

/** Draws `As of 00:13:58 UTC, 34 s old. Actions are off until the gateway answers.` */
export function StaleNote(): VNode | null {
  const { live, time, overview } = useConsole();
  const read = overview.value.value;
  if (!read) return null;
  const now = time.now.value;
  return (
    <p class="stale-line muted">
      As of {formatClock(read.time)} UTC, {formatAge(now - read.time)} old. Actions are off until the{' '}
      {live.value.kind === 'store_down' ? 'store' : 'gateway'} answers.
    </p>
  );
}
