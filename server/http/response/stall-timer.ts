/**
 * The one timer of all responses in progress, streams among them: it disconnects the readers that take too
 * little of what is ready for them. A reader must take at least 64 KiB in each 30 s, or all there is: slower
 * than any link that still carries a call, and so slow that a value of 1 MiB may take eight minutes.
 */
import type { ServerResponse } from 'node:http';
import { createVisits, type Visits } from '../../async/visits.ts';
import type { Clock } from '../../ports/clock.ts';

/** The longest time between two visits to the readers. */
const TICK_MS = 2_500;
const LEAST_BYTES = 65_536;

/** Since when a reader has taken too little, and how many bytes it had taken by then. */
type Stall = { readonly sinceMs: number; readonly takenBytes: number };

/** Creates the timer over the responses in progress; it does not run yet. */
export function createStallTimer(clock: Clock, stallMs: number, responses: Iterable<ServerResponse>): Visits {
  const stalls = new WeakMap<ServerResponse, Stall>();

  function destroyIfStalled(response: ServerResponse): void {
    const takenBytes = countTaken(response);
    const stall = stalls.get(response);
    if (!stall || takenBytes - stall.takenBytes >= LEAST_BYTES) {
      stalls.set(response, { sinceMs: clock.monotonicMs(), takenBytes });
    } else if (clock.monotonicMs() - stall.sinceMs >= stallMs) {
      response.destroy();
    }
  }

  return createVisits(clock, Math.min(TICK_MS, stallMs / 2), responses, (response) => {
    if (response.writableLength > 0) destroyIfStalled(response);
    else stalls.delete(response);
  });
}

/** Bytes that the reader's side has taken. */
function countTaken({ socket, writableLength }: ServerResponse): number {
  return socket ? socket.bytesWritten - writableLength : 0;
}
