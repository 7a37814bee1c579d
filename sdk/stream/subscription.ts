/** A subscription to the events of one session, as a loop reads it (§4.2). */
import { linkSignals } from '../clock.ts';
import type { EventId, TaskDone } from '../contract.ts';
import { AbortError, InvalidOptionError } from '../errors.ts';
import { type FeedDeps, type FeedNotice, followFeed, IDLE_MS, type Place } from './follow.ts';

/** What may be set for a subscription. */
export type SubscribeOptions = {
  /** Ends the subscription: the loop throws an `AbortError`. */
  readonly signal?: AbortSignal | undefined;
  /** Go on behind this event; absent: everything that is stored comes first. */
  readonly lastEventId?: EventId | undefined;
  /** Told when the connection opens, breaks, or skipped events that were trimmed away. */
  readonly onNotice?: ((notice: FeedNotice) => void) | undefined;
  /** Milliseconds without a byte after which the connection counts as lost; 60,000 unless told otherwise. */
  readonly idleMs?: number | undefined;
  /** Milliseconds one attempt to connect may take; as for every call. */
  readonly timeoutMs?: number | undefined;
  /** Sent along with the request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/**
 * The events of a session, for one `for await`. It connects when the loop starts, reconnects by itself, and ends when
 * the loop is left, `close()` is called or the signal fires; nothing stays open after it. A repeat that a reconnection
 * brings is dropped as long as its first showing is among the last 10,000 events.
 */
export type EventSubscription = AsyncIterable<TaskDone> & {
  /** The id of the last event read, for a later subscription to go on from. */
  readonly lastEventId: EventId | undefined;
  /** Ends the loop quietly, wherever it waits. Twice is fine. */
  close(): void;
};

/** Repeats are recognised this far back. */
const SEEN_MAX = 10_000;

/** Creates a subscription. Its loop throws the typed error of a final refusal (401, 422 …) or `AbortError`. */
export function createSubscription(
  deps: Pick<FeedDeps, 'openStream' | 'clock' | 'log'>,
  options: SubscribeOptions = {},
): EventSubscription {
  const { signal, onNotice } = options;
  const place: Place = { lastEventId: options.lastEventId };
  const closing = new AbortController();
  let taken = false;

  async function* read(): AsyncGenerator<TaskDone, void, undefined> {
    const isFirst = createRepeatFilter();
    const idleMs = options.idleMs ?? IDLE_MS;
    const linked = linkSignals(signal, closing.signal);
    try {
      for await (const item of followFeed({ ...deps, place, idleMs, signal: linked.signal })) {
        if (item.kind !== 'event') onNotice?.(item);
        else if (isFirst(item.event.request_id)) yield item.event;
      }
      if (signal?.aborted) throw new AbortError(signal.reason);
    } finally {
      linked.release();
    }
  }

  return {
    get lastEventId() {
      return place.lastEventId;
    },
    close: () => closing.abort(),
    [Symbol.asyncIterator]() {
      if (taken)
        throw new InvalidOptionError('A subscription is read once. Subscribe again for another loop.');
      taken = true;
      const events = read();
      return {
        next: () => events.next(),
        return: () => {
          closing.abort();
          return events.return();
        },
      };
    },
  };
}

/** Tells whether an id is new, remembering the last `SEEN_MAX` of them. */
function createRepeatFilter(): (id: string) => boolean {
  const seen = new Set<string>();
  return (id) => {
    if (seen.has(id)) return false;
    seen.add(id);
    if (seen.size > SEEN_MAX) seen.delete(seen.keys().next().value ?? id);
    return true;
  };
}
