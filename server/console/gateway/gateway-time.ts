/**
 * The gateway's time: its responses give it, and the browser's clock carries it on. Ages are counted by it,
 * so a wrong clock of the browser does not matter. It ticks at each whole second, so all ages change
 * together.
 */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { PollClock } from './polling.ts';

export type GatewayTime = {
  /** Whole epoch seconds by the gateway's clock; before its first response, by the browser's. */
  readonly now: ReadonlySignal<number>;
  /** The time that ages are counted to: `now`, or the last current time while data is not current. */
  readonly shown: ReadonlySignal<number>;
  /** Notes the `time` of a response that was just read, in epoch seconds. */
  noteTime(time: number): void;
  /** Converts a time of the poll's clock into epoch seconds of the gateway. */
  toGatewaySeconds(clockMs: number): number;
  /** Stops and resumes the ticking of `shown`. */
  setCurrent(isCurrent: boolean): void;
  stop(): void;
};

/** Creates the time and starts to tick. */
export function createGatewayTime(clock: PollClock): GatewayTime {
  const start = Math.floor(clock.nowMs() / 1000);
  const now = signal(start);
  const shown = signal(start);
  let offsetMs = 0;
  let isCurrent = true;
  let unschedule = (): void => {};

  function tick(): void {
    const gatewayMs = clock.nowMs() + offsetMs;
    now.value = Math.floor(gatewayMs / 1000);
    if (isCurrent) shown.value = now.peek();
    unschedule();
    // Adds a little, so that rounding never shows the same second twice.
    unschedule = clock.schedule(1000 - (((gatewayMs % 1000) + 1000) % 1000) + 5, tick);
  }
  tick();
  return {
    now,
    shown,
    noteTime(time) {
      const measuredMs = time * 1000 - clock.nowMs();
      // A small difference comes from how long responses take, not from the clock.
      if (Math.abs(measuredMs - offsetMs) < 500) return;
      offsetMs = measuredMs;
      tick();
    },
    toGatewaySeconds: (clockMs) => (clockMs + offsetMs) / 1000,
    setCurrent(current) {
      isCurrent = current;
      tick();
    },
    stop: () => unschedule(),
  };
}
