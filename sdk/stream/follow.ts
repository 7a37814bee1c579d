/**
 * Follows a session's stream of events through every break (§4.2, §6): reconnects with `Last-Event-ID`, so that
 * nothing is lost and a repeat is rare, and says what happens to the connection on the way.
 *
 * Between breaks it is connected; a break is the server's close, a lost connection, silence, 5xx or 429. What another
 * attempt can't mend (any other 4xx, an answer that is no event stream) ends it with a typed error. When the reader
 * leaves or the signal fires, the connection is closed with it.
 */
import { type Clock, linkSignals } from '../clock.ts';
import type { TaskDone } from '../contract.ts';
import { ApiError, ConnectionError, TaskGatewayError } from '../errors.ts';
import type { Log } from '../log.ts';
import { isTransient } from '../transport.ts';
import { createFrameReader, type Frame } from './frames.ts';

/** What a feed says: an event, or what became of the connection. */
export type FeedItem = { readonly kind: 'event'; readonly event: TaskDone } | FeedNotice;

/** What became of the connection. */
export type FeedNotice =
  /** Connected: what was stored follows, then what happens. */
  | { readonly kind: 'open' }
  /** Older events were trimmed away before they could be read here: look at the tasks themselves. */
  | { readonly kind: 'gap' }
  /** The connection is lost; the next attempt follows after `retryInMs`. */
  | { readonly kind: 'down'; readonly error: TaskGatewayError; readonly retryInMs: number };

/**
 * Opens one connection: resolves when the answer's head is there. Rejects with an error of the kit. The signal is the
 * connection's own; it fires when nobody reads any more, and closes it.
 */
export type OpenStream = (
  lastEventId: string | undefined,
  signal: AbortSignal,
) => Promise<ReadableStream<Uint8Array>>;

/** Where a reader stands; moves as events are read, and may be handed to a later feed. */
export type Place = { lastEventId: string | undefined };

export type FeedDeps = {
  readonly openStream: OpenStream;
  readonly clock: Clock;
  readonly log: Log;
  readonly place: Place;
  /** Milliseconds without a byte after which the connection counts as lost; the gateway pings every 15 s. */
  readonly idleMs: number;
  readonly signal: AbortSignal;
};

/** Four pings long. */
export const IDLE_MS = 60_000;
/** Until the server says otherwise (`retry:`). */
const RETRY_FIRST_MS = 2_000;
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 30_000;

/** Follows the feed until the signal fires (it then ends quietly) or a final error is thrown. */
export async function* followFeed(deps: FeedDeps): AsyncGenerator<FeedItem, void, undefined> {
  const { clock, log, place, signal } = deps;
  let baseMs = RETRY_FIRST_MS;
  let failures = 0;
  while (!signal.aborted) {
    let error: TaskGatewayError = new ConnectionError('connection_failed', 'The server closed the stream.');
    try {
      for await (const frame of readConnection(deps)) {
        failures = 0;
        if (frame.kind === 'retry') baseMs = Math.max(frame.retryMs, RETRY_MIN_MS);
        if (frame.kind === 'open') log('debug', 'the event stream is open');
        const item = readItem(frame, place);
        if (item) yield item;
      }
    } catch (cause) {
      if (signal.aborted) return;
      if (!isBreak(cause)) {
        log('error', `the event stream ended: ${describeError(cause)}`);
        throw cause;
      }
      error = cause;
    }
    if (signal.aborted) return;
    const retryInMs = chooseDelay(error, baseMs, failures, clock);
    failures += 1;
    log('warn', `the event stream is down: ${error.message}`, { retryInMs: Math.round(retryInMs) });
    yield { kind: 'down', error, retryInMs };
    await clock.sleep(retryInMs, signal);
  }
}

/** A frame as an item, if it says anything; moves the place behind an event. */
function readItem(frame: Frame | { kind: 'open' }, place: Place): FeedItem | undefined {
  switch (frame.kind) {
    case 'open':
      return frame;
    case 'retry':
      return undefined;
    case 'id':
      place.lastEventId = frame.id;
      return undefined;
    case 'comment':
      return frame.text.trim() === 'gap' ? { kind: 'gap' } : undefined;
    case 'event': {
      place.lastEventId = frame.id ?? place.lastEventId;
      const event = readEvent(frame.data);
      return event && { kind: 'event', event };
    }
  }
}

/** Kinds of event that a later gateway may send are passed over. */
function readEvent(data: string): TaskDone | undefined {
  try {
    const value = JSON.parse(data);
    return value?.event === 'task_done' && typeof value.request_id === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** One connection from its opening to its end; whatever ends the reading closes it. */
async function* readConnection(deps: FeedDeps): AsyncGenerator<Frame | { kind: 'open' }, void, undefined> {
  const { clock, idleMs } = deps;
  const linked = linkSignals(deps.signal);
  const { signal } = linked;
  try {
    const reader = (await deps.openStream(deps.place.lastEventId, signal)).getReader();
    const readFrames = createFrameReader();
    const heard = { atMs: clock.nowMs() };
    void watchSilence(clock, idleMs, heard, signal).then(() => linked.abort());
    yield { kind: 'open' };
    for (;;) {
      const chunk = await reader.read().catch((cause: unknown) => {
        throw describeBreak(cause, clock.nowMs() - heard.atMs >= idleMs ? idleMs : undefined);
      });
      if (chunk.done) return;
      heard.atMs = clock.nowMs();
      yield* readFrames(chunk.value);
    }
  } finally {
    linked.abort();
  }
}

/** Resolves when nothing was heard for `idleMs`, or the signal fired. */
async function watchSilence(
  clock: Clock,
  idleMs: number,
  heard: { readonly atMs: number },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const leftMs = heard.atMs + idleMs - clock.nowMs();
    if (leftMs <= 0 || signal.aborted) return;
    await clock.sleep(leftMs, signal);
  }
}

function describeBreak(cause: unknown, silentMs: number | undefined): ConnectionError {
  const why = silentMs === undefined ? 'was cut' : `was silent for ${silentMs} ms`;
  return new ConnectionError('connection_failed', `The event stream ${why}.`, { cause });
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether another attempt may mend it. */
function isBreak(error: unknown): error is TaskGatewayError {
  if (error instanceof ApiError) return isTransient(error.status);
  return (
    error instanceof TaskGatewayError && (error.code === 'connection_failed' || error.code === 'timeout')
  );
}

/** The server's `retry:` doubling with each attempt in vain to 30 s, a quarter to either side; `Retry-After` wins. */
function chooseDelay(error: TaskGatewayError, baseMs: number, failures: number, clock: Clock): number {
  const askedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
  if (askedMs !== undefined) return askedMs * (1 + clock.chance() / 4);
  const fullMs = Math.min(baseMs * 2 ** failures, Math.max(baseMs, RETRY_MAX_MS));
  return fullMs * (0.75 + clock.chance() / 2);
}
