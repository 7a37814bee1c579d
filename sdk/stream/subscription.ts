/** A subscription to the events of one session, read with `for await`. */
import { loadChunk } from '../chunks.ts';
import { linkSignals, untilAborted } from '../clock.ts';
import type { EventId, SessionId, TaskDone } from '../contract.ts';
import { AbortError, InvalidOptionError } from '../errors.ts';
import { runCallback } from '../log.ts';
import type { Cursor, FeedNotice } from './follow.ts';
import type { StreamDeps } from './session.ts';

/** The options of a subscription. */
export type SubscribeOptions = {
  /** Aborts the subscription: the loop throws an `AbortError`. */
  readonly signal?: AbortSignal | undefined;
  /** Start behind this event. Without it, all stored events come first. */
  readonly lastEventId?: EventId | undefined;
  /**
   * Called when the connection opens or breaks, and when events were deleted before they could be read. If it
   * throws, the error is printed and changes nothing.
   */
  readonly onNotice?: ((notice: FeedNotice) => void) | undefined;
  /** Milliseconds without a byte after which the connection counts as lost. Default: 60,000. */
  readonly idleMs?: number | undefined;
  /** The timeout of one attempt to connect, in milliseconds. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** Headers sent with the request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/**
 * The events of a session, for one `for await` loop. It connects when the loop starts and reconnects by
 * itself. It ends, and closes its connection, when the loop is left, `close()` is called or the signal fires.
 * An event that is sent again after a reconnection is skipped if it is among the last 10,000.
 */
export type EventSubscription = AsyncIterable<TaskDone> & {
  /** The id of the last event read, from which a later subscription may continue. */
  readonly lastEventId: EventId | undefined;
  /** Ends the loop without an error, also while it waits. Idempotent. */
  close(): void;
};

/** The number of events among which duplicates are recognised. */
const SEEN_MAX = 10_000;

/**
 * Creates a subscription. Its loop throws the typed error of a final response (401, 422 …), `AbortError`, or
 * `chunk_not_loaded`.
 */
export function createSubscription(
  deps: StreamDeps,
  session: SessionId,
  { signal, onNotice, lastEventId, ...options }: SubscribeOptions,
): EventSubscription {
  const cursor: Cursor = { lastEventId };
  const closing = new AbortController();
  let isStarted = false;

  async function* read(): AsyncGenerator<TaskDone, void, undefined> {
    const isNew = createDuplicateFilter();
    const linked = linkSignals(signal, closing.signal);
    try {
      const part = await loadChunk(() => import('./session.ts'), linked.signal);
      for await (const item of part.followSession(deps, session, {
        ...options,
        cursor,
        signal: linked.signal,
      })) {
        if (item.kind !== 'event') runCallback('onNotice', () => onNotice?.(item));
        else if (isNew(item.event.request_id)) yield item.event;
      }
      if (signal?.aborted) throw new AbortError(signal.reason);
    } catch (error) {
      if (signal?.aborted || !closing.signal.aborted) throw error;
    } finally {
      linked.release();
    }
  }

  return {
    get lastEventId() {
      return cursor.lastEventId;
    },
    close: () => closing.abort(),
    [Symbol.asyncIterator]() {
      if (isStarted) throw new InvalidOptionError('A subscription can be read once. Subscribe again.');
      isStarted = true;
      const events = read();
      return {
        next: () => untilAborted(signal, () => events.next()),
        return: () => {
          closing.abort();
          return events.return();
        },
      };
    },
  };
}

/** Creates a check for whether an id is new, which remembers the last `SEEN_MAX` ids. */
function createDuplicateFilter(): (id: string) => boolean {
  const seen = new Set<string>();
  return (id) => {
    if (seen.has(id)) return false;
    seen.add(id);
    if (seen.size > SEEN_MAX) seen.delete(seen.keys().next().value ?? id);
    return true;
  };
}
