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
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** The bytes one response holds. */
type Holding = { readonly response: ServerResponse; readonly caller: Caller; readonly bytes: Buffer };

/** The bytes the responses to one address hold; those longest without progress come first. */
type Caller = { readonly address: string | null; bytes: number; readonly holdings: Set<Holding> };

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
  const callers = new Map<string | null, Caller>();
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
    let most: Caller | undefined;
    for (const caller of callers.values()) if (caller.bytes > (most?.bytes ?? 0)) most = caller;
    const [oldest] = most?.holdings ?? [];
    return oldest;
  }

  return {
    hold(response, bytes) {
      release(response);
      const address = addressOf(response.req);
      const caller: Caller = callers.get(address) ?? { address, bytes: 0, holdings: new Set() };
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
