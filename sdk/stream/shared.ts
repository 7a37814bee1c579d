/**
 * The event streams that running tasks share: one connection per session however many tasks wait on it, opened by the
 * first, closed by the last, and resumed where it was left when another one comes.
 */
import type { TaskGatewayError } from '../errors.ts';
import type { FeedItem, Place } from './follow.ts';

/** Told everything a feed says, and `ended` when it said something final: from then on there is no stream. */
export type FeedListener = (
  item: FeedItem | { readonly kind: 'ended'; readonly error: TaskGatewayError },
) => void;

export type SharedFeeds = {
  /** Listens to a session, at once told `open` where the stream is open. Answers how to stop listening. */
  listen(session: string, listener: FeedListener): () => void;
};

type SharedFeed = {
  readonly listeners: Set<FeedListener>;
  readonly closing: AbortController;
  open: boolean;
};

/** Places are kept for so many sessions. */
const PLACES_MAX = 100;

/** Creates the shared feeds over a way to follow one. */
export function createSharedFeeds(
  follow: (session: string, place: Place, signal: AbortSignal) => AsyncIterable<FeedItem>,
): SharedFeeds {
  const feeds = new Map<string, SharedFeed>();
  const places = new Map<string, Place>();

  function placeOf(session: string): Place {
    const place = places.get(session) ?? { lastEventId: undefined };
    places.delete(session);
    places.set(session, place);
    if (places.size > PLACES_MAX) places.delete(places.keys().next().value ?? session);
    return place;
  }

  function start(session: string): SharedFeed {
    const feed: SharedFeed = { listeners: new Set(), closing: new AbortController(), open: false };
    feeds.set(session, feed);
    void pump(session, feed);
    return feed;
  }

  async function pump(session: string, feed: SharedFeed): Promise<void> {
    try {
      for await (const item of follow(session, placeOf(session), feed.closing.signal)) {
        if (item.kind === 'open') feed.open = true;
        if (item.kind === 'down') feed.open = false;
        for (const listener of feed.listeners) listener(item);
      }
    } catch (error) {
      if (feeds.get(session) === feed) feeds.delete(session);
      for (const listener of feed.listeners) listener({ kind: 'ended', error: error as TaskGatewayError });
    }
  }

  return {
    listen(session, listener) {
      const feed = feeds.get(session) ?? start(session);
      feed.listeners.add(listener);
      if (feed.open) listener({ kind: 'open' });
      return () => {
        feed.listeners.delete(listener);
        if (feed.listeners.size > 0) return;
        feed.closing.abort();
        if (feeds.get(session) === feed) feeds.delete(session);
      };
    },
  };
}
