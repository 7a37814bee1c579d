/** How long a task has left when it reaches an agent. */
import type { Task } from '../contract.ts';

/** No task lasts longer, whatever its `timeout` says. */
const LIFETIME_MAX_MS = 604_800_000;

/** Milliseconds a task may last in all: no bound on what is left, but one that needs no agreement about the time. */
export function lifetimeMs({ timeout }: Pick<Task, 'timeout'>): number {
  const ms = timeout * 1_000;
  return ms > 0 && ms < LIFETIME_MAX_MS ? ms : LIFETIME_MAX_MS;
}

/** Milliseconds left as the gateway counts them (`task-remaining`, seconds); without that its whole lifetime. */
export function remainingMs(task: Pick<Task, 'timeout'>, header: string | undefined): number {
  const seconds = header === undefined || header.trim() === '' ? Number.NaN : Number(header);
  return seconds >= 0 ? Math.min(seconds * 1_000, LIFETIME_MAX_MS) : lifetimeMs(task);
}
