/**
 * The one timer of all event streams: it pings the readers that have nothing left to take, and disconnects
 * those that have taken no byte for thirty seconds.
 */
import type { ServerResponse } from 'node:http';
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { Clock } from '../../ports/clock.ts';
import { PING } from './frames.ts';

/** The longest time between two visits to the readers. */
const TICK_MS = 5_000;
const STALL_MS = 30_000;
/** Streams that are visited before everything else gets a turn. */
const STREAMS_PER_TURN = 500;

export type PingTimer = {
  /** Idempotent. */
  start(): void;
  /** Idempotent. */
  stop(): void;
};

/** Since when a reader has taken nothing of what is ready for it, and how many bytes it had taken by then. */
type Stall = { readonly sinceMs: number; readonly takenBytes: number };

/** Creates the timer over the set of open streams; it does not run yet. */
export function createPingTimer(
  clock: Clock,
  pingIntervalMs: number,
  streams: Iterable<{ readonly response: ServerResponse }>,
): PingTimer {
  const tickMs = Math.min(TICK_MS, pingIntervalMs);
  const ticksPerPing = Math.round(pingIntervalMs / tickMs);
  const stalls = new WeakMap<ServerResponse, Stall>();
  let running: AbortController | null = null;

  async function run(stopped: AbortSignal): Promise<void> {
    for (let ticks = 1; ; ticks += 1) {
      await clock.sleep(tickMs, stopped);
      if (stopped.aborted) return;
      await visitAll(ticks % ticksPerPing === 0);
    }
  }

  async function visitAll(isPing: boolean): Promise<void> {
    let visited = 0;
    for (const { response } of streams) {
      visited += 1;
      if (visited % STREAMS_PER_TURN === 0) await yieldToEventLoop();
      if (response.writableLength > 0) destroyIfStalled(response);
      else {
        stalls.delete(response);
        if (isPing && response.headersSent) response.write(PING);
      }
    }
  }

  function destroyIfStalled(response: ServerResponse): void {
    const takenBytes = countTaken(response);
    const stall = stalls.get(response);
    if (stall?.takenBytes !== takenBytes) {
      stalls.set(response, { sinceMs: clock.monotonicMs(), takenBytes });
    } else if (clock.monotonicMs() - stall.sinceMs >= STALL_MS) {
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
