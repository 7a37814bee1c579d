/**
 * The memory that request bodies may take together, and the time that each may take to arrive. There are two
 * reserves: one for small bodies and one for large ones, so that neither can take the other's.
 *
 * A body holds what has arrived of it, never what it announces. When a reserve is exhausted, the body that
 * has been arriving into it longest gives way, once that is a second; so bodies that never end hold up no
 * others.
 *
 * Each byte counts three times, because that is what it takes: once in the chunks; again when they are
 * joined, after which the chunks are freed; then as text, of one or two bytes a character. The parsed value
 * replaces joined bytes and text. Most values take one to four times their text; one that takes
 * more, such as 1 MiB of empty arrays, is beyond the limits of `json-limits` and gone within its piece of
 * work.
 *
 * The time to arrive; after its first seconds a large body must keep a least rate:
 *
 *   small  requestMs     + 1 s for each 64 KiB that arrived
 *   large  largeBodyMs   + 1 s for each 64 KiB that arrived
 *
 * Costs one entry for each body. One loop looks at all bodies that are arriving, about once a second.
 */
import type { Clock } from '../../ports/clock.ts';
import { Problem } from '../problems.ts';

/** A body that is arriving or being handled. */
export type OpenBody = {
  readonly startedMs: number;
  readonly arrivedBytes: number;
  readonly isLarge: boolean;
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

type Arriving = { readonly bytes: number; readonly sinceMs: number };

/** Creates a reserve of this many bytes of memory. */
export function createBodyReserve(bytesMax: number, monotonicMs: () => number): BodyReserve {
  // In the order in which they began to hold.
  const arriving = new Map<OpenBody, Arriving>();
  const complete = new Map<OpenBody, number>();
  let heldBytes = 0;

  function release(body: OpenBody): void {
    heldBytes -= arriving.get(body)?.bytes ?? complete.get(body) ?? 0;
    arriving.delete(body);
    complete.delete(body);
  }

  /** Makes the longest arriving body give way to another; returns whether there was one. */
  function freeOldest(newcomer: OpenBody): boolean {
    for (const [body, { sinceMs }] of arriving) {
      if (monotonicMs() - sinceMs < GIVES_WAY_AFTER_MS) return false;
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
      const { bytes: before = 0, sinceMs = monotonicMs() } = arriving.get(body) ?? {};
      const more = bytes - before;
      while (heldBytes + more > bytesMax) {
        if (!freeOldest(body)) throw busy('Too many large bodies are arriving right now.');
      }
      arriving.set(body, { bytes, sinceMs });
      heldBytes += more;
    },
    complete(body, bytes) {
      release(body);
      complete.set(body, bytes * MEMORY_PER_BYTE);
      heldBytes += bytes * MEMORY_PER_BYTE;
    },
    release,
  };
}

function busy(reason: string): Problem {
  return new Problem('busy', `${reason} Send the request again after \`Retry-After\`.`);
}

export type ArrivalLimits = {
  /** Time for a request whose body is small. */
  readonly requestMs: number;
  /** Time for a large body before the least rate counts. */
  readonly largeBodyMs: number;
};

export type ArrivalClock = {
  add(body: OpenBody): void;
  remove(body: OpenBody): void;
};

/** A body gets a second more for each time that this many bytes arrived. */
const BYTES_PER_SECOND = 65_536;
const CHECK_MS = 1_000;

/** The longest time that a request may take whose body has this many bytes. */
export function longestRequestMs(requestMs: number, bodyBytes: number): number {
  return requestMs + Math.ceil((bodyBytes / BYTES_PER_SECOND) * 1_000);
}

/** Creates the clock; it runs only while bodies are arriving. */
export function createArrivalClock(clock: Clock, { requestMs, largeBodyMs }: ArrivalLimits): ArrivalClock {
  const bodies = new Set<OpenBody>();
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
