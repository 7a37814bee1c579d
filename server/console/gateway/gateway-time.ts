/**
 * The gateway's time, as its responses give it and the browser's clock carries it on. Ages are counted by
 * it, so a wrong clock of the browser changes nothing; it ticks at each whole second, so all ages change
 * together.
 */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { PollClock } from './polling.ts';

export type GatewayTime = {
  /** Whole epoch seconds, by the gateway's clock; by the browser's before its first response. */
  readonly now: ReadonlySignal<number>;
  /** The same, at the last response that was current: what ages are counted to while nothing is current. */
  readonly shown: ReadonlySignal<number>;
  /** Notes the `time` of a response that was just read, in epoch seconds. */
  noteTime(time: number): void;
  /** Turns a time of the poll's clock into the gateway's epoch seconds. */
  toGatewaySeconds(clockMs: number): number;
  /** Stops and resumes the ticking of `shown`. */
  setCurrent(isCurrent: boolean): void;
  stop(): void;
};

/** Creates it and starts to tick. */
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
    // A moment later, so that rounding does not make it a second with the same number.
    unschedule = clock.schedule(1000 - (((gatewayMs % 1000) + 1000) % 1000) + 5, tick);
  }
  tick();
  return {
    now,
    shown,
    noteTime(time) {
      const measuredMs = time * 1000 - clock.nowMs();
      // Responses take different times to arrive: a small change is no change of the clock.
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
