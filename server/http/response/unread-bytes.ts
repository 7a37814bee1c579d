/**
 * The bytes that callers were sent and have not taken: of responses and streams together, one budget for the
 * process. Beyond it the reader is disconnected that has taken nothing for the longest time, and never a new
 * one refused. A reader that takes what it is sent is the last to be chosen, because each slice that it takes
 * moves it to the end of the order.
 *
 * A buffer counts whole until its last byte is taken, since memory is freed whole; one that several readers
 * share counts once. Cost: one entry for each response that is being written.
 *
 * Below it the one timer of all responses in progress, streams among them: it disconnects the readers that
 * take too little of what is ready for them. A reader must take at least 64 KiB in each 30 s, or all there
 * is: slower than any link that still carries a call, and so slow that a value of 1 MiB may take eight
 * minutes.
 */
import type { ServerResponse } from 'node:http';
import { createVisits, type Visits } from '../../async/visits.ts';
import type { Clock } from '../../ports/clock.ts';

export type UnreadBytes = {
  /** Counts a buffer that the response is to be sent; disconnects readers while the budget is exceeded. */
  hold(response: ServerResponse, bytes: Buffer): void;
  /** The reader has taken a part of its buffer. */
  noteProgress(response: ServerResponse): void;
  /** Frees what the response holds. Idempotent. */
  release(response: ServerResponse): void;
  /** Bytes that are held now, in all. */
  heldBytes(): number;
};

/** Creates the budget. `onCut` is called after a reader was disconnected, with the bytes that it held. */
export function createUnreadBytes(bytesMax: number, onCut: (unreadBytes: number) => void): UnreadBytes {
  /** The bytes of each response; those that are longest without progress come first. */
  const holdings = new Map<ServerResponse, Buffer>();
  const readersOf = new Map<Buffer, number>();
  let totalBytes = 0;

  function release(response: ServerResponse): void {
    const bytes = holdings.get(response);
    if (!bytes) return;
    holdings.delete(response);
    const readers = (readersOf.get(bytes) ?? 1) - 1;
    if (readers > 0) readersOf.set(bytes, readers);
    else {
      readersOf.delete(bytes);
      totalBytes -= bytes.length;
    }
  }

  return {
    hold(response, bytes) {
      release(response);
      holdings.set(response, bytes);
      const readers = readersOf.get(bytes) ?? 0;
      readersOf.set(bytes, readers + 1);
      if (readers === 0) totalBytes += bytes.length;
      while (totalBytes > bytesMax) {
        const [oldest] = holdings;
        if (!oldest) return;
        const [reader, unread] = oldest;
        release(reader);
        reader.destroy();
        onCut(unread.length);
      }
    },

    noteProgress(response) {
      const bytes = holdings.get(response);
      if (!bytes) return;
      holdings.delete(response);
      holdings.set(response, bytes);
    },

    release,
    heldBytes: () => totalBytes,
  };
}

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
