/**
 * The event streams that the runs of a client share: one connection for each session, however many runs
 * listen to it. The first listener opens it and the last one closes it. A later listener resumes behind the
 * last event read.
 */
import type { TaskDone } from '../contract.ts';
import type { Cursor, FeedItem, FeedNotice } from './follow.ts';

/** Called with all items of a feed, and with `ended` when the feed throws its final error. */
export type FeedListener = (
  item: FeedItem<Pick<TaskDone, 'request_id'>> | { readonly kind: 'ended' },
) => void;

export type SharedFeeds = {
  /**
   * Listens to a session; returns a function that stops listening. If there was an `open` or `down`, it calls
   * the listener with the last one at once, because the next may be far off.
   */
  listen(session: string, listener: FeedListener): () => void;
};

type SharedFeed = {
  readonly listeners: Set<FeedListener>;
  readonly closing: AbortController;
  /** The last `open` or `down`. */
  state?: FeedNotice;
};

/** The number of sessions whose cursors are kept. */
const CURSORS_MAX = 100;

/** Creates the shared feeds; `follow` opens the feed of one session. */
export function createSharedFeeds(
  follow: (session: string, cursor: Cursor, signal: AbortSignal) => AsyncIterable<FeedItem<TaskDone>>,
): SharedFeeds {
  const feeds = new Map<string, SharedFeed>();
  const cursors = new Map<string, Cursor>();

  /** Returns the session's cursor, and marks it as the one used last. */
  function getCursor(session: string): Cursor {
    const cursor = cursors.get(session) ?? { lastEventId: undefined };
    cursors.delete(session);
    cursors.set(session, cursor);
    if (cursors.size > CURSORS_MAX) cursors.delete(cursors.keys().next().value ?? session);
    return cursor;
  }

  function start(session: string): SharedFeed {
    const feed: SharedFeed = { listeners: new Set(), closing: new AbortController() };
    feeds.set(session, feed);
    void notifyListeners(session, feed);
    return feed;
  }

  async function notifyListeners(session: string, feed: SharedFeed): Promise<void> {
    try {
      for await (const item of follow(session, getCursor(session), feed.closing.signal)) {
        if (item.kind === 'open' || item.kind === 'down') feed.state = item;
        for (const listener of feed.listeners) listener(item);
      }
    } catch {
      if (feeds.get(session) === feed) feeds.delete(session);
      for (const listener of feed.listeners) listener({ kind: 'ended' });
    }
  }

  return {
    listen(session, listener) {
      const feed = feeds.get(session) ?? start(session);
      feed.listeners.add(listener);
      if (feed.state) listener(feed.state);
      return () => {
        feed.listeners.delete(listener);
        if (feed.listeners.size > 0) return;
        feed.closing.abort();
        if (feeds.get(session) === feed) feeds.delete(session);
      };
    },
  };
}
