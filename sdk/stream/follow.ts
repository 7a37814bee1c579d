/**
 * Follows a stream of events, of a session or of a task, across reconnections. It reconnects with
 * `Last-Event-ID`, so that no event is lost and duplicates are rare. It yields the events, and the changes of
 * the connection.
 *
 *   connecting ──response head──▶ open ──close, error, silence──▶ down ──delay──▶ connecting
 *        ├──no response, 5xx, 429──────────────────────────────────▲
 *        └──204: nothing follows──▶ the feed ends
 *
 * A failure that a retry can't solve (any other 4xx, a response that is not an event stream) ends the feed
 * with a typed error. When the reader leaves its loop or the signal fires, the feed closes the connection.
 */
import { parseJson } from '../bodies.ts';
import { type Clock, linkSignals, readMonotonicMs } from '../clock.ts';
import { ApiError, ConnectionError, type TaskGatewayError } from '../errors.ts';
import type { Log } from '../log.ts';
import { checkTransient, choosePauseMs } from '../waiting.ts';
import { createFrameReader, type Frame } from './frames.ts';

/** An item of a feed: an event, or a change of the connection. */
export type FeedItem<Event> = { readonly kind: 'event'; readonly event: Event } | FeedNotice;

/** A change of an event stream's connection. */
export type FeedNotice =
  /** Connected: stored events follow, then new ones. */
  | { readonly kind: 'open' }
  /**
   * Some events were deleted before they could be read. To learn what was missed, get the tasks themselves.
   */
  | { readonly kind: 'gap' }
  /** The connection broke or could not be opened. The next attempt follows after `retryInMs`. */
  | { readonly kind: 'down'; readonly error: TaskGatewayError; readonly retryInMs: number };

/**
 * Opens one connection. Resolves when the head of the response has arrived, to null if nothing follows;
 * rejects with an error of the SDK. The signal belongs to this connection: it fires when the feed stops
 * reading, and closes the connection.
 */
export type OpenStream = (
  lastEventId: string | undefined,
  signal: AbortSignal,
) => Promise<ReadableStream<Uint8Array> | null>;

/**
 * A reader's position in a stream. It moves as the reader reads events; a later feed may continue from it.
 */
export type Cursor = { lastEventId: string | undefined };

export type FeedDeps<Event> = {
  readonly openStream: OpenStream;
  /** Returns the event, or undefined for a kind that only a later gateway sends. */
  readonly readEvent: (data: unknown) => Event | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly cursor: Cursor;
  /** When a read takes so many milliseconds, the connection counts as lost. The gateway pings every 15 s. */
  readonly idleMs: number;
  /** The largest event that is read. */
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal;
};

/** The default: four times the interval of the gateway's pings. */
export const IDLE_MS = 60_000;
/** The first delay, unless the server has sent another one (`retry:`). */
const RETRY_FIRST_MS = 2_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30_000;
/** A connection that lasted this long, or brought an event, does not count as a failure. */
const LASTING_MS = 5_000;

/** Follows the feed until the signal fires, which ends it without an error, or it throws a final error. */
export async function* followFeed<Event>(
  deps: FeedDeps<Event>,
): AsyncGenerator<FeedItem<Event>, void, undefined> {
  const { clock, log, signal } = deps;
  let baseMs = RETRY_FIRST_MS;
  let failures = 0;
  let isDown = false;
  const unreadable: Unreadable = { id: null };
  while (!signal.aborted) {
    let error: TaskGatewayError = new ConnectionError('connection_failed', 'The server closed the stream.');
    let openedMs = Number.POSITIVE_INFINITY;
    try {
      for await (const frame of readConnection(deps)) {
        if (frame.kind === 'over') return;
        if (frame.kind === 'event') failures = 0;
        if (frame.kind === 'retry') baseMs = Math.min(Math.max(frame.retryMs, RETRY_MIN_MS), RETRY_MAX_MS);
        if (frame.kind === 'open') {
          openedMs = readMonotonicMs(clock);
          if (isDown) log('warn', 'the event stream is open again', { attempts: failures });
          else log('debug', 'the event stream is open');
          isDown = false;
        }
        const item = readItem(frame, deps, unreadable);
        if (item) yield item;
      }
    } catch (cause) {
      if (signal.aborted) return;
      if (!checkTransient(cause)) {
        log('error', `the event stream ended: ${cause}`);
        throw cause;
      }
      error = cause;
    }
    if (signal.aborted) return;
    if (readMonotonicMs(clock) - openedMs >= LASTING_MS) failures = 0;
    const retryInMs = choosePauseMs(
      clock,
      { firstMs: baseMs, maxMs: RETRY_MAX_MS },
      failures,
      (error instanceof ApiError ? error.retryAfterMs : undefined) ?? baseMs,
    );
    failures += 1;
    // Warns once when the stream breaks; `info` also has each failure until it is back.
    log(isDown ? 'info' : 'warn', `the event stream is down: ${error.message}`, {
      retryInMs: Math.round(retryInMs),
    });
    isDown = true;
    yield { kind: 'down', error, retryInMs };
    await clock.sleep(retryInMs, signal);
  }
}

/** The id of the last event whose data was no JSON; null while there was none. */
type Unreadable = { id: string | undefined | null };

/**
 * Returns what the feed yields for a frame, if anything, and moves the cursor behind an event. Data that is
 * no JSON counts as a cut: it throws, and the cursor stays before the event. If the same data comes again,
 * the event is skipped.
 */
function readItem<Event>(
  frame: Frame | { readonly kind: 'open' },
  { cursor, readEvent, log }: Pick<FeedDeps<Event>, 'cursor' | 'readEvent' | 'log'>,
  unreadable: Unreadable,
): FeedItem<Event> | undefined {
  switch (frame.kind) {
    case 'open':
      return frame;
    case 'retry':
      return undefined;
    case 'id':
      cursor.lastEventId = frame.id;
      return undefined;
    case 'comment':
      return frame.text.trim() === 'gap' ? { kind: 'gap' } : undefined;
    case 'event': {
      const data = readData(frame.data);
      if (data === undefined && unreadable.id !== frame.id) {
        unreadable.id = frame.id;
        throw new ConnectionError('connection_failed', 'The event stream sent an event that is not JSON.');
      }
      if (data === undefined) log('error', 'an event is left out: it is not JSON', { id: frame.id });
      cursor.lastEventId = frame.id ?? cursor.lastEventId;
      const event = readEvent(data);
      return event && { kind: 'event', event };
    }
  }
}

/** Returns the value of an event's data, or undefined if it is no JSON. */
function readData(data: string): unknown {
  try {
    return parseJson(data);
  } catch {
    return undefined;
  }
}

/** Yields the frames of one connection. However the reading ends, the connection is closed. */
async function* readConnection(
  deps: Omit<FeedDeps<unknown>, 'readEvent'>,
): AsyncGenerator<Frame | { readonly kind: 'open' } | { readonly kind: 'over' }, void, undefined> {
  const { clock, idleMs } = deps;
  const linked = linkSignals(deps.signal);
  const { signal } = linked;
  try {
    const body = await deps.openStream(deps.cursor.lastEventId, signal);
    if (!body) {
      yield { kind: 'over' };
      return;
    }
    const reader = body.getReader();
    const readFrames = createFrameReader(deps.maxResponseBytes);
    const lastChunk: LastChunk = { atMs: readMonotonicMs(clock), isAwaited: false };
    void waitForSilence(clock, idleMs, lastChunk, signal).then(() => linked.abort());
    yield { kind: 'open' };
    for (;;) {
      // While the caller works on a chunk, nothing is read. That time is no silence of the gateway.
      Object.assign(lastChunk, { atMs: readMonotonicMs(clock), isAwaited: true });
      const chunk = await reader.read().catch((cause: unknown) => {
        throw createBreakError(cause, readMonotonicMs(clock) - lastChunk.atMs >= idleMs ? idleMs : undefined);
      });
      if (chunk.done) return;
      lastChunk.isAwaited = false;
      yield* readFrames(chunk.value);
    }
  } finally {
    linked.abort();
  }
}

/** When the last chunk arrived or the wait for the next one began, and whether one is awaited now. */
type LastChunk = { atMs: number; isAwaited: boolean };

/** Resolves when no chunk has arrived for `idleMs` although one was awaited, or when the signal has fired. */
async function waitForSilence(
  clock: Clock,
  idleMs: number,
  lastChunk: Readonly<LastChunk>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const leftMs = lastChunk.isAwaited ? lastChunk.atMs + idleMs - readMonotonicMs(clock) : idleMs;
    if (leftMs <= 0 || signal.aborted) return;
    await clock.sleep(leftMs, signal);
  }
}

function createBreakError(cause: unknown, silentMs: number | undefined): ConnectionError {
  const why = silentMs === undefined ? 'was cut' : `was silent for ${silentMs} ms`;
  return new ConnectionError('connection_failed', `The event stream ${why}.`, { cause });
}
