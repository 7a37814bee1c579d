/** The one timer of all event streams: it pings the readers that have nothing left to take. */
import type { ServerResponse } from 'node:http';
import { createVisits, type Visits } from '../../async/visits.ts';
import type { Clock } from '../../ports/clock.ts';
import { PING } from './event-frames.ts';

/** Creates the timer over the set of open streams; it does not run yet. */
export function createPingTimer(
  clock: Clock,
  pingIntervalMs: number,
  streams: Iterable<{ readonly response: ServerResponse }>,
): Visits {
  return createVisits(clock, pingIntervalMs, streams, ({ response }) => {
    if (response.headersSent && response.writableLength === 0) response.write(PING);
  });
}
