/** Adds details to a task's history that only the task itself has. Pure. */
import type { HistoryEntry } from '../../timeline/lanes.ts';

/**
 * The times with which a task was submitted, in seconds. `queue_timeout` is null if the task may not wait.
 */
export type TaskTimes = { readonly timeout: number; readonly queue_timeout: number | null };

/** Adds a detail to entries that have none, if there is something to say. */
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
