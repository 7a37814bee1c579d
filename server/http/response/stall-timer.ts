/**
 * The one timer of all responses in progress, streams among them: it disconnects the readers that take too
 * little of what is ready for them. A reader must take at least 64 KiB in each 30 s, or all there is: slower
 * than any link that still carries a call, and so slow that a value of 4 MiB may take half an hour.
 */
import type { ServerResponse } from 'node:http';
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { Clock } from '../../ports/clock.ts';

/** The longest time between two visits to the readers. */
const TICK_MS = 2_500;
const LEAST_BYTES = 65_536;
/** Responses that are visited before everything else gets a turn. */
const RESPONSES_PER_TURN = 500;

export type StallTimer = {
  /** Idempotent. */
  start(): void;
  /** Idempotent. */
  stop(): void;
};

/** Since when a reader has taken too little, and how many bytes it had taken by then. */
type Stall = { readonly sinceMs: number; readonly takenBytes: number };

/** Creates the timer over the responses in progress; it does not run yet. */
export function createStallTimer(
  clock: Clock,
  stallMs: number,
  responses: Iterable<ServerResponse>,
): StallTimer {
  const tickMs = Math.min(TICK_MS, stallMs / 2);
  const stalls = new WeakMap<ServerResponse, Stall>();
  let running: AbortController | null = null;

  async function run(stopped: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(tickMs, stopped);
      if (stopped.aborted) return;
      await visitAll();
    }
  }

  async function visitAll(): Promise<void> {
    let visited = 0;
    for (const response of responses) {
      visited += 1;
      if (visited % RESPONSES_PER_TURN === 0) await yieldToEventLoop();
      if (response.writableLength > 0) destroyIfStalled(response);
      else stalls.delete(response);
    }
  }

  function destroyIfStalled(response: ServerResponse): void {
    const takenBytes = countTaken(response);
    const stall = stalls.get(response);
    if (!stall || takenBytes - stall.takenBytes >= LEAST_BYTES) {
      stalls.set(response, { sinceMs: clock.monotonicMs(), takenBytes });
    } else if (clock.monotonicMs() - stall.sinceMs >= stallMs) {
      response.destroy();
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

/** Bytes that the reader's side has taken. */
function countTaken({ socket, writableLength }: ServerResponse): number {
  return socket ? socket.bytesWritten - writableLength : 0;
}
