/**
 * The open event streams (§4.2, §6): a cursor each, never a queue. A stream's feed is read only as fast as its reader
 * takes the bytes, so what a slow reader costs is one event. Frames go straight to the socket, in slices, and a long
 * replay in turns with everything else.
 *
 * One timer serves all: it pings, and looks for readers that took nothing for thirty seconds. Streams end when the reader leaves, stalls or falls behind what is kept, and when the server drains.
 */
import type { ServerResponse } from 'node:http';
import type { Clock, Random } from '../../ports/clock.ts';
import type { StreamItem } from '../../ports/gateway.ts';
import type { Log } from '../../ports/log.ts';
import type { EventSource } from '../operations/handlers.ts';
import { Problem } from '../problems.ts';
import { createFairScheduler, type Quota } from './fair-scheduling.ts';

export type StreamLimits = {
  readonly streamsMax: number;
  readonly sessionStreamsMax: number;
};

export type Streams = {
  /**
   * Answers with the stream and resolves when it has begun. Throws, with nothing written, a `Problem` (429) when there
   * are too many, or whatever the feed throws at once.
   */
  serve(events: EventSource, response: ServerResponse): Promise<void>;
  /** Tells every reader when to come back, at a time of its own within a few seconds, and ends its stream. */
  end(): void;
  /** How many are open. */
  count(): number;
};

/** At most so long between two looks at the readers. */
const TICK_MS = 5_000;
const STALL_MS = 30_000;
/** So many streams are written to before anything else gets a turn. */
const STREAMS_PER_TURN = 500;
/** Bytes of a frame handed over at a time; a reader shows progress at this grain. */
const SLICE_BYTES = 16_384;
const RETRY_MS = 2_000;

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** One open stream. */
type Stream = {
  readonly response: ServerResponse;
  readonly leave: AbortController;
  readonly share: Quota;
  /** Goes on with a frame that waits for the reader to take what was written. */
  release: (() => void) | null;
  /** Since when the reader was seen to take nothing of what lies there for it, and how much it had by then. */
  stalled: { readonly sinceMs: number; readonly takenBytes: number } | null;
};

type Deps = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits: StreamLimits;
  readonly pingIntervalMs: number;
};

/** Creates the keeper of the streams. Its timer runs only while there are any. */
export function createStreams({ clock, random, log, limits, pingIntervalMs }: Deps): Streams {
  const streams = new Set<Stream>();
  const perSession = new Map<string, number>();
  const frames = new WeakMap<StreamItem, Buffer>();
  const tickMs = Math.min(TICK_MS, pingIntervalMs);
  const ticksPerPing = Math.round(pingIntervalMs / tickMs);
  const turns = createFairScheduler();
  let ticking: AbortController | null = null;

  function admit(session: string): void {
    if (streams.size >= limits.streamsMax) {
      throw new Problem('too_many_streams', `${limits.streamsMax} streams are open. Try again later.`);
    }
    if ((perSession.get(session) ?? 0) >= limits.sessionStreamsMax) {
      throw new Problem(
        'too_many_streams',
        `This session has ${limits.sessionStreamsMax} open streams. Close one before opening another.`,
      );
    }
  }

  function enter(session: string, stream: Stream): void {
    streams.add(stream);
    perSession.set(session, (perSession.get(session) ?? 0) + 1);
    if (ticking) return;
    ticking = new AbortController();
    void tick(ticking.signal);
  }

  /** Twice is fine. */
  function leave(session: string, stream: Stream): void {
    if (!streams.delete(stream)) return;
    const left = (perSession.get(session) ?? 1) - 1;
    if (left === 0) perSession.delete(session);
    else perSession.set(session, left);
    if (streams.size > 0) return;
    ticking?.abort();
    ticking = null;
  }

  async function tick(over: AbortSignal): Promise<void> {
    for (let ticks = 1; ; ticks += 1) {
      await clock.sleep(tickMs, over);
      if (over.aborted) return;
      const isPing = ticks % ticksPerPing === 0;
      let visited = 0;
      for (const stream of streams) {
        visited += 1;
        if (visited % STREAMS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
        if (stream.response.writableLength > 0) destroyIfStalled(stream);
        else {
          stream.stalled = null;
          if (isPing && stream.response.headersSent) stream.response.write(': ping\n\n');
        }
      }
    }
  }

  function destroyIfStalled(stream: Stream): void {
    const takenBytes = countTaken(stream.response);
    if (stream.stalled?.takenBytes !== takenBytes) {
      stream.stalled = { sinceMs: clock.monotonicMs(), takenBytes };
    } else if (clock.monotonicMs() - stream.stalled.sinceMs >= STALL_MS) {
      stream.response.destroy();
    }
  }

  /** Resolves when the reader has taken what was written, or has gone. */
  function drained(stream: Stream): Promise<void> {
    return new Promise((resolve) => {
      const release = (): void => {
        stream.response.off('drain', release);
        stream.release = null;
        resolve();
      };
      stream.release = release;
      stream.response.on('drain', release);
    });
  }

  async function write(stream: Stream, frame: Buffer): Promise<void> {
    for (let from = 0; from < frame.length && !stream.leave.signal.aborted; from += SLICE_BYTES) {
      const slice = frame.length <= SLICE_BYTES ? frame : frame.subarray(from, from + SLICE_BYTES);
      if (stream.response.write(slice)) continue;
      await drained(stream);
      // A quick reader's socket drains at once: that must not be the way to write on and on.
      if (!stream.leave.signal.aborted) await turns.next(stream.share);
    }
    if (turns.use(stream.share)) await turns.next(stream.share);
  }

  /** Readers that are given the same item are written the same bytes. */
  function frameOf(item: StreamItem): Buffer {
    const frame = frames.get(item) ?? Buffer.from(describeItem(item));
    frames.set(item, frame);
    return frame;
  }

  /** Writes items until the feed ends, which it does when the reader leaves. Never throws. */
  async function follow(
    stream: Stream,
    items: AsyncIterator<StreamItem>,
    first: Promise<IteratorResult<StreamItem>>,
  ): Promise<void> {
    try {
      for (let next = await first; !next.done; next = await items.next()) {
        await write(stream, frameOf(next.value));
        if (stream.leave.signal.aborted) break;
      }
      await items.return?.();
    } catch (error) {
      // The reader comes back with its last id; what it missed is still stored.
      log.debug({ error }, 'a stream ended early');
    }
    if (!stream.response.writableEnded) stream.response.end();
  }

  return {
    async serve({ session, open }, response) {
      admit(session);
      const stream: Stream = {
        response,
        leave: new AbortController(),
        share: { turn: 0, events: 0 },
        release: null,
        stalled: null,
      };
      enter(session, stream);
      response.once('close', () => {
        leave(session, stream);
        stream.leave.abort('left');
        stream.release?.();
      });
      const items = open(stream.leave.signal)[Symbol.asyncIterator]();
      const first = items.next();
      try {
        // A feed that fails at once fails before the status is written.
        await Promise.race([first, new Promise((resolve) => setImmediate(resolve))]);
      } catch (error) {
        leave(session, stream);
        throw error;
      }
      response.writeHead(200, STREAM_HEADERS);
      response.write(`retry: ${RETRY_MS}\n\n: ready\n\n`);
      void follow(stream, items, first);
    },

    end() {
      for (const stream of streams) {
        // Not all at the same moment.
        const retryMs = 1_000 + Math.floor(random() * 4_000);
        if (stream.response.headersSent) stream.response.end(`retry: ${retryMs}\n\n`);
        stream.leave.abort('left');
        stream.release?.();
      }
    },

    count: () => streams.size,
  };
}

/** Bytes the reader's side has taken. */
function countTaken({ socket, writableLength }: ServerResponse): number {
  return socket ? socket.bytesWritten - writableLength : 0;
}

/** A frame: an id and one line of data, nothing else (§6); or the comment that says something is missing. */
function describeItem(item: StreamItem): string {
  if (item.gap) return ': gap\n\n';
  const { event, request_id, status, result, error_info } = item.event;
  return `id: ${item.cursor}\ndata: ${JSON.stringify({ event, request_id, status, result, error_info })}\n\n`;
}
