/**
 * The open event streams. Each is a cursor into its session's feed or its task's output, never a queue. Node
 * reads a stream only as fast as the reader takes the bytes, so a slow reader costs one event, or one page of
 * output.
 *
 * A stream ends when its reader disconnects, takes nothing for a time (`response/readers.ts`) or falls behind
 * what is kept, and when the server drains.
 */
import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { createVisits } from '../../async/visits.ts';
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { Clock, Random } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { FeedTrimmed, StoreUnavailable } from '../../ports/store.ts';
import { CallerGone } from '../problems.ts';
import type { Readers } from '../response/readers.ts';
import { createAdmission, type StreamLimits } from './admission.ts';
import { type EventSource, OPENING, PING, renderRetry } from './event-frames.ts';

export type Streams = {
  /**
   * Responds with a stream. Rejects with a `Problem` (429) if there are too many, or with what the source
   * throws at once.
   */
  serve(ctx: Context, source: EventSource): Promise<void>;
  /** Ends every open stream. Each reader learns when to reconnect, at a random time within a few seconds. */
  endOpen(): void;
  /** Ends every open stream, and each stream that begins later. */
  end(): void;
  /** How many streams are open. */
  count(): number;
};

type Deps = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits: StreamLimits;
  /** How often a stream is pinged; default 15 s. */
  readonly pingIntervalMs?: number | undefined;
  readonly readers?: Readers;
};

/** When the gateway drains, readers reconnect after this time, plus a random part of the spread. */
const RECONNECT_MIN_MS = 1_000;
const RECONNECT_SPREAD_MS = 4_000;

const PING_INTERVAL_MS = 15_000;

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** Creates the streams. The ping timer runs only while a stream is open. */
export function createStreams(deps: Deps): Streams {
  const { clock, random, log, limits, readers, pingIntervalMs = PING_INTERVAL_MS } = deps;
  const admission = createAdmission<EventStream>(limits);
  const pings = createVisits(clock, pingIntervalMs, admission.streams, (stream) => stream.ping());
  let isEnding = false;

  function endWithRetry(stream: EventStream): void {
    stream.end(renderRetry(RECONNECT_MIN_MS + Math.floor(random() * RECONNECT_SPREAD_MS)));
  }

  function endOpen(): void {
    for (const stream of admission.streams) endWithRetry(stream);
  }

  function noteEnd(error: unknown): void {
    // The reader reconnects with its last id, and gets what it missed, or a gap.
    const isExpected = error instanceof FeedTrimmed || error instanceof StoreUnavailable;
    log[isExpected ? 'debug' : 'error']({ err: error }, 'a stream ended early');
  }

  return {
    async serve(ctx, source) {
      if (ctx.method === 'HEAD') {
        ctx.set(HEADERS);
        ctx.status = 200;
        return;
      }
      const hold = (bytes: number): void => readers?.hold(ctx.res, bytes);
      const stream = new EventStream(source, hold, noteEnd);
      admission.admit(stream);
      pings.start();
      stream.once('close', () => {
        admission.release(stream);
        if (admission.streams.size === 0) pings.stop();
      });
      try {
        await stream.begin();
      } catch (error) {
        stream.destroy();
        throw error;
      }
      if (ctx.res.destroyed) stream.destroy();
      else ctx.res.once('close', () => stream.destroy());
      ctx.set(HEADERS);
      ctx.body = stream;
      if (isEnding) endWithRetry(stream);
    },
    endOpen,
    end() {
      isEnding = true;
      endOpen();
    },
    count: () => admission.streams.size,
  };
}

/** After this many frames of one stream other work runs, because a quick reader's replay never waits. */
const FRAMES_PER_TICK = 8;

/** The frames of a source as a stream, whose reader sets the pace. */
class EventStream extends Readable {
  readonly of: EventSource['of'];
  readonly #gone = new AbortController();
  readonly #frames: AsyncIterator<Buffer>;
  readonly #hold: (bytes: number) => void;
  readonly #noteEnd: (error: unknown) => void;
  #first: Promise<IteratorResult<Buffer>> | undefined;
  #isReading = false;
  #isOver = false;
  #count = 0;

  constructor({ of, open }: EventSource, hold: (bytes: number) => void, noteEnd: (error: unknown) => void) {
    super();
    this.of = of;
    this.#frames = open(this.#gone.signal)[Symbol.asyncIterator]();
    this.#hold = hold;
    this.#noteEnd = noteEnd;
  }

  /** Rejects if the source fails at once, before a status is written. */
  async begin(): Promise<void> {
    this.#first = this.#frames.next();
    await Promise.race([this.#first, yieldToEventLoop()]);
    this.push(OPENING);
  }

  /** Pings a reader that has taken everything. */
  ping(): void {
    if (this.readableLength === 0) this.#add(PING);
  }

  /** Adds the last bytes. */
  end(bytes: string): void {
    this.#add(bytes);
    this.#finish();
  }

  override _read(): void {
    // A ping or the end may be pushed while a frame is awaited. Then `_read()` is called once more.
    if (!this.#isReading) void this.#readFrames();
  }

  /** Reads frames as long as the reader takes them. */
  async #readFrames(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#isReading) {
        this.#count += 1;
        if (this.#count % FRAMES_PER_TICK === 0) await yieldToEventLoop();
        const { done, value } = await (this.#first ?? this.#frames.next());
        this.#first = undefined;
        this.#isReading = !done && this.#add(value);
        if (done) this.#finish();
      }
    } catch (error) {
      if (error instanceof CallerGone) {
        // Lets the stream send what has been added.
        await yieldToEventLoop();
        this.destroy(error);
      }
      if (!this.destroyed) this.#noteEnd(error);
      this.#finish();
    }
  }

  /** Returns whether the reader takes more. */
  #add(bytes: Buffer | string): boolean {
    if (this.#isOver || this.destroyed) return false;
    this.#hold(bytes.length);
    return this.push(bytes);
  }

  #finish(): void {
    if (this.#isOver || this.destroyed) return;
    this.#isOver = true;
    this.push(null);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#gone.abort('closed');
    // Ends a source that waits. What it throws comes too late for the reader.
    this.#frames.return?.().catch(() => undefined);
    done(error);
  }
}
