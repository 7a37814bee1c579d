/**
 * The memory that request bodies may take together, while they arrive and are handled. There are two
 * reserves: one for small bodies and one for large ones, so that neither can take the other's.
 *
 * A body holds what has arrived of it, never what it announces. When a reserve is exhausted, the body that
 * has been arriving longest gives way, once that is a second; so bodies that never end hold up no others. One
 * remote address holds at most half of a reserve.
 *
 * Each byte counts three times, because that is what it takes: once in the chunks; again when they are
 * joined, after which the chunks are freed; then as text, of one or two bytes a character. The parsed value
 * replaces joined bytes and text. Most values take one to four times their text; one that takes
 * more, such as 1 MiB of empty arrays, is beyond the limits of `json-limits` and gone within its piece of
 * work.
 *
 * Costs one entry for each body.
 */
import { Problem } from '../problems.ts';
import { createShares } from '../shares.ts';

/** A body that is being read or handled. */
export type OpenBody = {
  /** Its caller's remote address, when that says something. */
  readonly address: string | null;
  readonly startedMs: number;
  /** Ends the reading of it with this problem. */
  fail(problem: Problem): void;
};

export type BodyReserve = {
  /** Sets how many bytes of it have arrived. Throws a `Problem` (503) when there is no memory for them. */
  hold(body: OpenBody, arrivedBytes: number): void;
  /**
   * Says that all of it has arrived: it no longer gives way. A body that arrived whole at once is counted,
   * but never refused: its bytes are in memory already.
   */
  complete(body: OpenBody, bytes: number): void;
  /** Returns what it holds. Idempotent. */
  release(body: OpenBody): void;
};

const MEMORY_PER_BYTE = 3;
/** A body that has been arriving for less gives no way to others. */
const GIVES_WAY_AFTER_MS = 1_000;

/** Creates a reserve of so many bytes of memory. */
export function createBodyReserve(bytesMax: number, monotonicMs: () => number): BodyReserve {
  // In the order in which they began.
  const arriving = new Map<OpenBody, number>();
  const complete = new Map<OpenBody, number>();
  const shares = createShares(bytesMax);
  let heldBytes = 0;

  function count(body: OpenBody, more: number): void {
    heldBytes += more;
    shares.add(body.address, more);
  }

  function release(body: OpenBody): void {
    count(body, -(arriving.get(body) ?? complete.get(body) ?? 0));
    arriving.delete(body);
    complete.delete(body);
  }

  /** Makes the longest arriving body give way to another; returns whether there was one. */
  function freeOldest(newcomer: OpenBody): boolean {
    for (const [body] of arriving) {
      if (monotonicMs() - body.startedMs < GIVES_WAY_AFTER_MS) return false;
      if (body === newcomer) continue;
      release(body);
      body.fail(busy('This body was slow to arrive, and too many bodies are arriving right now.'));
      return true;
    }
    return false;
  }

  return {
    hold(body, arrivedBytes) {
      const bytes = arrivedBytes * MEMORY_PER_BYTE;
      const more = bytes - (arriving.get(body) ?? 0);
      if (!shares.fits(body.address, more)) {
        throw busy('Too many bodies are arriving from your address right now.');
      }
      while (heldBytes + more > bytesMax) {
        if (!freeOldest(body)) throw busy('Too many large bodies are arriving right now.');
      }
      arriving.set(body, bytes);
      count(body, more);
    },
    complete(body, bytes) {
      release(body);
      complete.set(body, bytes * MEMORY_PER_BYTE);
      count(body, bytes * MEMORY_PER_BYTE);
    },
    release,
  };
}

function busy(reason: string): Problem {
  return new Problem('busy', `${reason} Send the request again after \`Retry-After\`.`);
}
