/**
 * Follows a session's stream of events across reconnections. It reconnects with `Last-Event-ID`, so that no
 * event is lost and duplicates are rare, and yields the events together with the changes of the connection.
 *
 *   connecting ──response head──▶ open ──close, error, silence──▶ down ──delay──▶ connecting
 *        └──no response, 5xx, 429──────────────────────────────────▲
 *
 * Failures that a retry can't solve (any other 4xx, a response that is not an event stream) end the feed with
 * a typed error. When the reader leaves its loop or the signal fires, the connection is closed.
 */
import { parseJson } from '../bodies.ts';
import { type Clock, linkSignals, readMonotonicMs } from '../clock.ts';
import type { TaskDone } from '../contract.ts';
import { ApiError, ConnectionError, type TaskGatewayError } from '../errors.ts';
import type { Log } from '../log.ts';
import { checkTaskDone, readEnd } from '../responses.ts';
import { checkTransient, choosePauseMs } from '../waiting.ts';
import { createFrameReader, type Frame } from './frames.ts';

/** An item of a feed: an event, or a change of the connection. */
export type FeedItem = { readonly kind: 'event'; readonly event: TaskDone } | FeedNotice;

/** A change of an event stream's connection. */
export type FeedNotice =
  /** Connected: stored events follow, then new ones. */
  | { readonly kind: 'open' }
  /**
   * Some events were deleted before they could be read. To learn what was missed, get the tasks themselves.
   */
  | { readonly kind: 'gap' }
  /** The connection was lost or could not be opened. The next attempt follows after `retryInMs`. */
  | { readonly kind: 'down'; readonly error: TaskGatewayError; readonly retryInMs: number };

/**
 * Opens one connection: resolves when the response's head has arrived, rejects with an error of the SDK. The
 * signal belongs to this connection; it fires when the feed stops reading, and closes it.
 */
export type OpenStream = (
  lastEventId: string | undefined,
  signal: AbortSignal,
) => Promise<ReadableStream<Uint8Array>>;

/**
 * The position of a reader in a session's events. It moves as events are read; a later feed may continue from
 * it.
 */
export type Cursor = { lastEventId: string | undefined };

export type FeedDeps = {
  readonly openStream: OpenStream;
  readonly clock: Clock;
  readonly log: Log;
  readonly cursor: Cursor;
  /** Milliseconds without a byte after which the connection counts as lost. The gateway pings every 15 s. */
  readonly idleMs: number;
  /** The largest event that is read. */
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal;
};

/** The default: four times the interval of the gateway's pings. */
export const IDLE_MS = 60_000;
/** The first delay, until the server sends another one (`retry:`). */
const RETRY_FIRST_MS = 2_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30_000;
/** A connection that lasted this long, or brought an event, was no failure. */
const LASTING_MS = 5_000;

/** Follows the feed until the signal fires (it then ends without an error) or a final error is thrown. */
export async function* followFeed(deps: FeedDeps): AsyncGenerator<FeedItem, void, undefined> {
  const { clock, log, cursor, signal } = deps;
  let baseMs = RETRY_FIRST_MS;
  let failures = 0;
  let isDown = false;
  while (!signal.aborted) {
    let error: TaskGatewayError = new ConnectionError('connection_failed', 'The server closed the stream.');
    let openedMs = Number.POSITIVE_INFINITY;
    try {
      for await (const frame of readConnection(deps)) {
        if (frame.kind === 'event') failures = 0;
        if (frame.kind === 'retry') baseMs = Math.min(Math.max(frame.retryMs, RETRY_MIN_MS), RETRY_MAX_MS);
        if (frame.kind === 'open') {
          openedMs = readMonotonicMs(clock);
          if (isDown) log('warn', 'the event stream is open again', { attempts: failures });
          else log('debug', 'the event stream is open');
          isDown = false;
        }
        const item = readItem(frame, cursor);
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
    // One line when it breaks and one when it is back; what fails in between is for those who look closer.
    log(isDown ? 'info' : 'warn', `the event stream is down: ${error.message}`, {
      retryInMs: Math.round(retryInMs),
    });
    isDown = true;
    yield { kind: 'down', error, retryInMs };
    await clock.sleep(retryInMs, signal);
  }
}

/** Returns what the feed yields for a frame, if anything. Moves the cursor behind an event. */
function readItem(frame: Frame | { kind: 'open' }, cursor: Cursor): FeedItem | undefined {
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
      cursor.lastEventId = frame.id ?? cursor.lastEventId;
      const event = readEvent(frame.data);
      return event && { kind: 'event', event };
    }
  }
}

/** Returns the event, or undefined for kinds that a later version of the gateway may send. */
function readEvent(data: string): TaskDone | undefined {
  try {
    const value = parseJson(data);
    return checkTaskDone(value) ? readEnd(value) : undefined;
  } catch {
    return undefined;
  }
}

/** Yields the frames of one connection. However the reading ends, the connection is closed. */
async function* readConnection(deps: FeedDeps): AsyncGenerator<Frame | { kind: 'open' }, void, undefined> {
  const { clock, idleMs } = deps;
  const linked = linkSignals(deps.signal);
  const { signal } = linked;
  try {
    const reader = (await deps.openStream(deps.cursor.lastEventId, signal)).getReader();
    const readFrames = createFrameReader(deps.maxResponseBytes);
    const lastChunk = { atMs: readMonotonicMs(clock) };
    void waitForSilence(clock, idleMs, lastChunk, signal).then(() => linked.abort());
    yield { kind: 'open' };
    for (;;) {
      const chunk = await reader.read().catch((cause: unknown) => {
        throw createBreakError(cause, readMonotonicMs(clock) - lastChunk.atMs >= idleMs ? idleMs : undefined);
      });
      if (chunk.done) return;
      lastChunk.atMs = readMonotonicMs(clock);
      yield* readFrames(chunk.value);
    }
  } finally {
    linked.abort();
  }
}

/** Resolves when no chunk has arrived for `idleMs`, or the signal fired. */
async function waitForSilence(
  clock: Clock,
  idleMs: number,
  lastChunk: { readonly atMs: number },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const leftMs = lastChunk.atMs + idleMs - readMonotonicMs(clock);
    if (leftMs <= 0 || signal.aborted) return;
    await clock.sleep(leftMs, signal);
  }
}

function createBreakError(cause: unknown, silentMs: number | undefined): ConnectionError {
  const why = silentMs === undefined ? 'was cut' : `was silent for ${silentMs} ms`;
  return new ConnectionError('connection_failed', `The event stream ${why}.`, { cause });
}
