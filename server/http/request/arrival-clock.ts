/**
 * How long a body may take to arrive. A small one: the time of a request and a second more for each 64 KiB
 * that arrived. A large one must keep a least rate after its first seconds.
 *
 *   small  requestMs     + 1 s for each 64 KiB that arrived
 *   large  largeBodyMs   + 1 s for each 64 KiB that arrived
 *
 * One loop looks at all bodies that are arriving, about once a second; each look costs time in their number.
 */
import type { Clock } from '../../ports/clock.ts';
import { Problem } from '../problems.ts';
import type { OpenBody } from './body-reserve.ts';

export type ArrivalLimits = {
  /** Time for a request whose body is small. */
  readonly requestMs: number;
  /** Time for a large body before the least rate counts. */
  readonly largeBodyMs: number;
};

/** A body that is arriving. */
export type ArrivingBody = OpenBody & { readonly arrivedBytes: number; readonly isLarge: boolean };

export type ArrivalClock = {
  add(body: ArrivingBody): void;
  remove(body: ArrivingBody): void;
};

/** Each so many bytes that arrived allow a second more. */
const BYTES_PER_SECOND = 65_536;
const CHECK_MS = 1_000;

/** The longest time that a request may take whose body has so many bytes. */
export function longestRequestMs(requestMs: number, bodyBytes: number): number {
  return requestMs + Math.ceil((bodyBytes / BYTES_PER_SECOND) * 1_000);
}

/** Creates the clock; it runs only while bodies are arriving. */
export function createArrivalClock(clock: Clock, { requestMs, largeBodyMs }: ArrivalLimits): ArrivalClock {
  const bodies = new Set<ArrivingBody>();
  const checkMs = Math.min(CHECK_MS, requestMs, largeBodyMs);
  let isRunning = false;

  async function run(): Promise<void> {
    while (bodies.size > 0) {
      await clock.sleep(checkMs);
      const nowMs = clock.monotonicMs();
      for (const body of bodies) {
        const baseMs = body.isLarge ? largeBodyMs : requestMs;
        if (nowMs - body.startedMs <= longestRequestMs(baseMs, body.arrivedBytes)) continue;
        bodies.delete(body);
        body.fail(describeLateness(body.isLarge));
      }
    }
    isRunning = false;
  }

  function describeLateness(isLarge: boolean): Problem {
    const detail = isLarge
      ? `A body above 64 KiB must arrive at 64 KiB a second at least, after its first ${largeBodyMs / 1_000} seconds.`
      : `A request must arrive within ${requestMs / 1_000} seconds.`;
    return new Problem('request_timeout', `${detail} Send it again over a faster connection, or send less.`);
  }

  return {
    add(body) {
      bodies.add(body);
      if (isRunning) return;
      isRunning = true;
      void run();
    },
    remove: (body) => void bodies.delete(body),
  };
}
