/** Adds to a task's history the details that only the task has: its times, and who reported. Pure. */
import type { HistoryEntry } from '../../timeline/lanes.ts';

/** The times a task was submitted with, in seconds; `queue_timeout` is null if it was not to wait. */
export type TaskTimes = { readonly timeout: number; readonly queue_timeout: number | null };

/** The history with a detail for each entry that has none and of which something is to be said. */
export function addDetails(history: readonly HistoryEntry[], times: TaskTimes): readonly HistoryEntry[] {
  return history.map((entry) => ({ ...entry, detail: entry.detail ?? describeEntry(entry.event, times) }));
}

function describeEntry(event: string, { timeout, queue_timeout }: TaskTimes): string | null {
  const mayWait = queue_timeout !== null && queue_timeout > 0;
  switch (event) {
    case 'submitted':
      return `timeout ${timeout} s${mayWait ? `, queue_timeout ${queue_timeout} s` : ''}`;
    case 'no_agent':
      return mayWait ? `queue_timeout of ${queue_timeout} s is over` : 'it was not allowed to wait';
    case 'timeout':
      return `${timeout} s are over`;
    case 'success':
    case 'failed':
      return 'reported by the agent';
    default:
      return null;
  }
}
