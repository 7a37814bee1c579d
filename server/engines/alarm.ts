/**
 * Hints whoever watches for what is due at the moment the earliest entry comes due, so that deadlines are kept to the
 * millisecond. It sleeps only while somebody watches; that a sleep may be long is the clock's business.
 */
import type { Clock } from '../ports/clock.ts';
import type { Hints } from './hints.ts';

export type Alarm = {
  /** Looks at the earliest entry anew: after every change of what is due and of who watches. */
  look(): void;
};

/** Creates it asleep. */
export function createAlarm(deps: {
  readonly clock: Clock;
  readonly hints: Hints;
  nowMs(): number;
  /** The earliest due time; undefined when nothing is due, ever. */
  earliestMs(): number | undefined;
}): Alarm {
  let armed: { readonly atMs: number; readonly stop: AbortController } | null = null;

  function look(): void {
    const atMs = deps.hints.hasListener('due') ? deps.earliestMs() : undefined;
    // One that rings too early looks again; to set it back each time something is due later would cost more.
    if (armed && atMs !== undefined && armed.atMs <= atMs) return;
    armed?.stop.abort('set anew');
    armed = null;
    if (atMs === undefined) return;
    const inMs = atMs - deps.nowMs();
    if (inMs <= 0) deps.hints.notify('due');
    else arm(atMs, inMs);
  }

  function arm(atMs: number, inMs: number): void {
    const stop = new AbortController();
    armed = { atMs, stop };
    void deps.clock.sleep(inMs, stop.signal).then(() => {
      if (stop.signal.aborted) return;
      armed = null;
      look();
    });
  }

  return { look };
}
