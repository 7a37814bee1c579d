/**
 * Notifies the watchers of the topic `due` when the earliest entry becomes due, so that deadlines are kept to
 * the millisecond. The timer runs only while there is a watcher. The clock must be able to sleep for any
 * length of time.
 */
import type { Clock } from '../ports/clock.ts';
import type { Notifications } from './notifications.ts';

export type DueTimer = {
  /** Reads the earliest due time again. To be called after every change of due entries and of watchers. */
  update(): void;
};

export function createDueTimer(deps: {
  readonly clock: Clock;
  readonly notifications: Notifications;
  nowMs(): number;
  earliestMs(): number | undefined;
}): DueTimer {
  let armed: { readonly atMs: number; readonly cancellation: AbortController } | null = null;

  function update(): void {
    const atMs = deps.notifications.hasListener('due') ? deps.earliestMs() : undefined;
    // A timer that fires too early sets itself again. That costs less than setting it whenever an entry moves
    // back.
    if (armed && atMs !== undefined && armed.atMs <= atMs) return;
    armed?.cancellation.abort();
    armed = null;
    if (atMs === undefined) return;
    const inMs = atMs - deps.nowMs();
    if (inMs <= 0) deps.notifications.notify('due');
    else arm(atMs, inMs);
  }

  function arm(atMs: number, inMs: number): void {
    const cancellation = new AbortController();
    armed = { atMs, cancellation };
    void deps.clock.sleep(inMs, cancellation.signal).then(() => {
      if (cancellation.signal.aborted) return;
      armed = null;
      update();
    });
  }

  return { update };
}
