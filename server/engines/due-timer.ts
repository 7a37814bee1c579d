/**
 * Hints whoever watches for what is due at the moment the earliest entry comes due, so that deadlines are kept to the
 * millisecond. It sleeps only while somebody watches; that a sleep may be long is the clock's business.
 */
import type { Clock } from '../ports/clock.ts';
import type { Notifications } from './notifications.ts';

export type DueTimer = {
  /** Looks at the earliest entry anew: after every change of what is due and of who watches. */
  update(): void;
};

/** Creates it asleep. */
export function createDueTimer(deps: {
  readonly clock: Clock;
  readonly notifications: Notifications;
  nowMs(): number;
  /** The earliest due time; undefined when nothing is due, ever. */
  earliestMs(): number | undefined;
}): DueTimer {
  let armed: { readonly atMs: number; readonly stop: AbortController } | null = null;

  function update(): void {
    const atMs = deps.notifications.hasListener('due') ? deps.earliestMs() : undefined;
    // One that rings too early looks again; to set it back each time something is due later would cost more.
    if (armed && atMs !== undefined && armed.atMs <= atMs) return;
    armed?.stop.abort('set anew');
    armed = null;
    if (atMs === undefined) return;
    const inMs = atMs - deps.nowMs();
    if (inMs <= 0) deps.notifications.notify('due');
    else arm(atMs, inMs);
  }

  function arm(atMs: number, inMs: number): void {
    const stop = new AbortController();
    armed = { atMs, stop };
    void deps.clock.sleep(inMs, stop.signal).then(() => {
      if (stop.signal.aborted) return;
      armed = null;
      update();
    });
  }

  return { update };
}
