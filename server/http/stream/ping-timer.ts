/** The one timer of all event streams: it pings the readers that have nothing left to take. */
import type { ServerResponse } from 'node:http';
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { Clock } from '../../ports/clock.ts';
import { PING } from './frames.ts';

/** Streams that are visited before everything else gets a turn. */
const STREAMS_PER_TURN = 500;

export type PingTimer = {
  /** Idempotent. */
  start(): void;
  /** Idempotent. */
  stop(): void;
};

/** Creates the timer over the set of open streams; it does not run yet. */
export function createPingTimer(
  clock: Clock,
  pingIntervalMs: number,
  streams: Iterable<{ readonly response: ServerResponse }>,
): PingTimer {
  let running: AbortController | null = null;

  async function run(stopped: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(pingIntervalMs, stopped);
      if (stopped.aborted) return;
      await pingAll();
    }
  }

  async function pingAll(): Promise<void> {
    let visited = 0;
    for (const { response } of streams) {
      visited += 1;
      if (visited % STREAMS_PER_TURN === 0) await yieldToEventLoop();
      if (response.headersSent && response.writableLength === 0) response.write(PING);
    }
  }

  return {
    start() {
      if (running) return;
      running = new AbortController();
      void run(running.signal);
    },
    stop() {
      running?.abort();
      running = null;
    },
  };
}
