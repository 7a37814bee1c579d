/**
 * The bytes that callers were sent and have not taken: of responses and streams together, one budget for the
 * process. Beyond it a reader is disconnected, never a new one refused: of the caller whose readers hold the
 * most, the reader that has taken nothing for the longest time. A reader that takes what it is sent is the
 * last to be chosen, because each slice that it takes moves it to the end of its caller's order:
 *
 *   caller A   longest without progress ──► r1  r2  r3   latest progress      300 MiB, so r1 is cut
 *   caller B                                r4                                  1 MiB
 *
 * A buffer counts whole until its last byte is taken, since memory is freed whole; one that several readers
 * share counts once. Cost: one entry for each response that is being written; choosing grows with the callers
 * that have one.
 *
 * Below it the one timer of all responses in progress, streams among them: it disconnects the readers that
 * take too little of what is ready for them. A reader must take at least 64 KiB in each 30 s, or all there
 * is: slower than any link that still carries a call, and so slow that a value of 1 MiB may take eight
 * minutes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createVisits, type Visits } from '../../async/visits.ts';
import type { Clock } from '../../ports/clock.ts';

/** The bytes one response holds. */
type Holding = { readonly response: ServerResponse; readonly caller: AddressReaders; readonly bytes: Buffer };

/** The bytes the responses to one address hold; those longest without progress come first. */
type AddressReaders = { readonly address: string | null; bytes: number; readonly holdings: Set<Holding> };

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

/**
 * Creates the budget. The callers whose address says nothing count as one; `onCut` is called after a reader
 * was disconnected.
 */
export function createUnreadBytes(
  bytesMax: number,
  addressOf: (req: IncomingMessage) => string | null,
  onCut: (address: string | null, unreadBytes: number) => void,
): UnreadBytes {
  const callers = new Map<string | null, AddressReaders>();
  const holdings = new Map<ServerResponse, Holding>();
  const readersOf = new Map<Buffer, number>();
  let totalBytes = 0;

  function release(response: ServerResponse): void {
    const holding = holdings.get(response);
    if (!holding) return;
    const { caller, bytes } = holding;
    holdings.delete(response);
    caller.holdings.delete(holding);
    caller.bytes -= bytes.length;
    if (caller.holdings.size === 0) callers.delete(caller.address);
    const readers = (readersOf.get(bytes) ?? 1) - 1;
    if (readers > 0) readersOf.set(bytes, readers);
    else {
      readersOf.delete(bytes);
      totalBytes -= bytes.length;
    }
  }

  /** The reader that is disconnected next, if any. */
  function findLeastDeserving(): Holding | undefined {
    let most: AddressReaders | undefined;
    for (const caller of callers.values()) if (caller.bytes > (most?.bytes ?? 0)) most = caller;
    const [oldest] = most?.holdings ?? [];
    return oldest;
  }

  return {
    hold(response, bytes) {
      release(response);
      const address = addressOf(response.req);
      const caller: AddressReaders = callers.get(address) ?? { address, bytes: 0, holdings: new Set() };
      callers.set(address, caller);
      const holding = { response, caller, bytes };
      holdings.set(response, holding);
      caller.holdings.add(holding);
      caller.bytes += bytes.length;
      const readers = readersOf.get(bytes) ?? 0;
      readersOf.set(bytes, readers + 1);
      if (readers === 0) totalBytes += bytes.length;
      while (totalBytes > bytesMax) {
        const cut = findLeastDeserving();
        if (!cut) return;
        release(cut.response);
        cut.response.destroy();
        onCut(cut.caller.address, cut.bytes.length);
      }
    },

    noteProgress(response) {
      const holding = holdings.get(response);
      if (!holding) return;
      holding.caller.holdings.delete(holding);
      holding.caller.holdings.add(holding);
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
