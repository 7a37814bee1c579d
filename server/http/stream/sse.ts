/**
 * The open event streams: each is a cursor into its session's feed or its task's output, never a queue. Both
 * are read only as fast as the reader takes the bytes, so a slow reader costs one event, or one page of
 * output.
 *
 * A stream ends when its reader disconnects, takes too little for thirty seconds or falls behind what is
 * kept, and when the server drains. The parts: `admission` holds the open streams within their limits,
 * `createPingTimer()` visits them, and this file follows the frames of each. As every response they are
 * written by the writers of `response/`, which also disconnect those who do not read.
 */
import type { ServerResponse } from 'node:http';
import { createVisits, type Visits } from '../../async/visits.ts';
import { yieldToEventLoop } from '../../async/waiting.ts';
import type { Clock, Random } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { FeedTrimmed, StoreUnavailable } from '../../ports/store.ts';
import type { EventSource, HeaderList } from '../answers.ts';
import { createResponseWriter, type ResponseWriter, type WriterDeps } from '../response/response-writer.ts';
import { createAdmission, type StreamLimits } from './admission.ts';
import { OPENING, PING, renderRetry } from './event-frames.ts';

export type Streams = {
  /**
   * Responds with the stream and these headers, and resolves when it has begun.
   * Rejects, with nothing written, with a `Problem` (429) when there are too many streams, or with what the
   * feed throws at once.
   */
  serve(source: EventSource, response: ServerResponse, headers: HeaderList): Promise<void>;
  /**
   * Ends every stream that has begun. Each reader learns when to reconnect, at a random time within a few
   * seconds; but if it has half an event, its connection is cut.
   */
  endOpen(): void;
  /** Does the same, also to each stream that begins from now on. */
  end(): void;
  /** How many are open. */
  count(): number;
};

/** One open stream. */
type OpenStream = Pick<EventSource, 'of'> & {
  readonly response: ServerResponse;
  readonly writer: ResponseWriter;
};

type Deps = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits: StreamLimits;
  readonly pingIntervalMs: number;
  readonly writers: WriterDeps;
};

/**
 * Readers of a gateway that drains reconnect after at least this long, and at most as much more as is spread.
 */
const RECONNECT_MIN_MS = 1_000;
const RECONNECT_SPREAD_MS = 4_000;

/** Creates it with no stream open. Its timer runs only while there are any. */
export function createStreams(deps: Deps): Streams {
  const { clock, random, log, limits, pingIntervalMs, writers } = deps;
  const admission = createAdmission<OpenStream>(limits);
  const pings = createPingTimer(clock, pingIntervalMs, admission.streams);

  let isEnding = false;

  /** Within a frame the connection is cut: with what is appended, half a frame would pass for a whole one. */
  function endWithRetry({ response, writer }: OpenStream): void {
    const retryMs = RECONNECT_MIN_MS + Math.floor(random() * RECONNECT_SPREAD_MS);
    if (writer.isWithin()) response.destroy();
    else if (response.headersSent && !response.writableEnded) response.end(renderRetry(retryMs));
    writer.stop();
  }

  function endOpen(): void {
    for (const stream of admission.streams) if (stream.response.headersSent) endWithRetry(stream);
  }

  function release(stream: OpenStream): void {
    admission.release(stream);
    if (admission.streams.size === 0) pings.stop();
  }

  return {
    async serve({ of, open }, response, headers) {
      const writer = createResponseWriter(response, writers);
      const stream: OpenStream = { of, response, writer };
      admission.admit(stream);
      pings.start();
      response.on('close', () => release(stream));
      const frames = open(writer.signal)[Symbol.asyncIterator]();
      const first = frames.next();
      try {
        // A feed that fails at once fails before the status is written.
        await Promise.race([first, yieldToEventLoop()]);
      } catch (error) {
        release(stream);
        throw error;
      }
      // By themselves, but in one piece with what follows: joined with it Node would keep their 36 parts.
      response.cork();
      response.writeHead(200, [...headers]).flushHeaders();
      response.write(OPENING);
      response.uncork();
      if (isEnding) endWithRetry(stream);
      void follow(stream, frames, first, log);
    },

    endOpen,
    end() {
      isEnding = true;
      endOpen();
    },

    count: () => admission.streams.size,
  };
}

/** Writes frames until the feed ends, which it does when the writer stops. Never rejects. */
async function follow(
  { response, writer }: OpenStream,
  frames: AsyncIterator<Buffer>,
  first: Promise<IteratorResult<Buffer>>,
  log: Log,
): Promise<void> {
  try {
    for (let next = await first; !next.done; next = await frames.next()) {
      await writer.write(next.value);
      if (writer.signal.aborted) break;
    }
    await frames.return?.();
  } catch (error) {
    // The reader reconnects with its last id: it gets what it missed, or a gap.
    const isExpected = error instanceof FeedTrimmed || error instanceof StoreUnavailable;
    log[isExpected ? 'debug' : 'error']({ err: error }, 'a stream ended early');
  }
  if (!response.writableEnded) response.end();
}

/**
 * Creates the one timer of all open streams, which pings the readers that have nothing left to take; it does
 * not run yet.
 */
export function createPingTimer(
  clock: Clock,
  pingIntervalMs: number,
  streams: Iterable<Pick<OpenStream, 'response' | 'writer'>>,
): Visits {
  return createVisits(clock, pingIntervalMs, streams, ({ response, writer }) => {
    if (response.headersSent && response.writableLength === 0 && !writer.isWithin()) response.write(PING);
  });
}
