/** A subscription to a stream, read with `for await`: the events of a session, or the output of a task. */
import { linkSignals, untilAborted } from '../clock.ts';
import type { EventId, TaskDone } from '../contract.ts';
import { AbortError, InvalidOptionError } from '../errors.ts';
import type { Cursor, FeedNotice } from './follow.ts';

/** The options of a subscription. */
export type SubscribeOptions = {
  /** Aborts the subscription: the loop throws an `AbortError`. */
  readonly signal?: AbortSignal | undefined;
  /** Starts behind this event. Without it, all stored events come first. */
  readonly lastEventId?: EventId | undefined;
  /**
   * Called when the connection opens or breaks, and when events were deleted before they could be read. If it
   * throws, the error is printed and changes nothing.
   */
  readonly onNotice?: ((notice: FeedNotice) => void) | undefined;
  /** Milliseconds without a byte after which the connection counts as lost. Default: 60,000. */
  readonly idleMs?: number | undefined;
  /** How long one attempt to connect may take, in milliseconds. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Headers sent with the request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/**
 * The items of a stream, for one `for await` loop. It connects when the loop starts and reconnects by itself.
 * When the loop is left, `close()` is called or the signal fires, it ends and closes its connection.
 */
type Subscription<Item> = AsyncIterable<Item> & {
  /** Ends the loop without an error, even while it waits. May be called again. */
  close(): void;
};

/** The events of a session. If a reconnection repeats one of the last 10,000 events, it is skipped. */
export type EventSubscription = Subscription<TaskDone> & {
  /** The id of the last event read. A later subscription may continue from it. */
  readonly lastEventId: EventId | undefined;
};

/** Where a subscription reads, and the signal that ends it. */
export type Reading = { readonly cursor: Cursor; readonly signal: AbortSignal };

/**
 * Creates a subscription to what `read` loads and reads. Its loop throws an `AbortError`, `chunk_not_loaded`,
 * or the typed error of a final response (401, 422 …).
 */
export function createSubscription<Item>(
  { signal, lastEventId }: Pick<SubscribeOptions, 'signal' | 'lastEventId'>,
  read: (reading: Reading) => Promise<AsyncIterable<Item>>,
): Subscription<Item> & { readonly lastEventId: string | undefined } {
  const cursor: Cursor = { lastEventId };
  const closing = new AbortController();
  let isStarted = false;

  async function* readAll(): AsyncGenerator<Item, void, undefined> {
    const linked = linkSignals(signal, closing.signal);
    try {
      yield* await read({ cursor, signal: linked.signal });
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
      const items = readAll();
      return {
        next: () => untilAborted(signal, () => items.next()),
        return: () => {
          closing.abort();
          return items.return();
        },
      };
    },
  };
}
