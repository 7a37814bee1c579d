/**
 * The last events of the feeds that are being read, so that a reader at the end of its feed reads nothing
 * from the file.
 *
 * Invariants
 * - A session's tail has no hole and reaches to the last event that was decided. It begins with the first
 *   event that is added while the feed is being read, and is dropped when an event is added while it is not.
 * - No event is returned before its commit is durable, nor after it was trimmed.
 * - Beyond the bounds, events are dropped: the oldest of a session, or whole tails, those that got no event
 *   for longest first. A reader that needs a dropped event reads the file.
 */
import type { Cursor, FeedItem } from '../../../ports/store.ts';
import { afterKey } from '../storage/row-keys.ts';

/**
 * A stored event, and the key from which the next one is read. Readers at the same position share entries.
 */
export type FeedEntry = {
  readonly key: string;
  readonly next: string;
  /** Its number in the session. */
  readonly number: number;
  readonly item: FeedItem;
};

export type FeedTails = {
  /** Adds the event of a commit, which was decided last in its session. */
  add(session: string, entry: FeedEntry, seq: number): void;
  /**
   * The durable events from a key on, for a reader whose last event has this number; none when the reader is
   * at the end. Undefined: the file must be read.
   */
  read(session: string, from: string, number: number): readonly FeedEntry[] | undefined;
  /** Forgets a session's events: some of them are trimmed. */
  drop(session: string): void;
};

type Tail = { readonly entries: { readonly entry: FeedEntry; readonly seq: number }[]; chars: number };

/** Events kept of one session; a reader that is further behind reads the file. */
const SESSION_EVENTS_MAX = 64;
/** Roughly how many characters of events are kept of all sessions together. */
const CHARS_MAX = 2_000_000;
/** Roughly what an entry takes in addition to its texts, in characters. */
const OVERHEAD_CHARS = 200;

/** An event as its readers share it. */
export function createFeedEntry(
  key: string,
  cursor: Cursor,
  { number, request_id }: { readonly number: number; readonly request_id: string },
): FeedEntry {
  return { key, next: afterKey(key), number, item: { gap: false, cursor, request_id } };
}

/** Creates it without events. `hasReaders`: whether a session's feed is being read. */
export function createFeedTails(
  hasReaders: (session: string) => boolean,
  isDurable: (seq: number) => boolean,
): FeedTails {
  /** In the order of their last events. */
  const tails = new Map<string, Tail>();
  let totalChars = 0;

  function drop(session: string): void {
    totalChars -= tails.get(session)?.chars ?? 0;
    tails.delete(session);
  }

  return {
    drop,
    add(session, entry, seq) {
      const tail = tails.get(session) ?? { entries: [], chars: 0 };
      drop(session);
      if (!hasReaders(session)) return;
      tail.entries.push({ entry, seq });
      tail.chars += countChars(entry);
      if (tail.entries.length > SESSION_EVENTS_MAX) {
        const oldest = tail.entries.shift();
        tail.chars -= oldest ? countChars(oldest.entry) : 0;
      }
      tails.set(session, tail);
      totalChars += tail.chars;
      for (const [oldest] of tails) {
        if (totalChars <= CHARS_MAX) return;
        drop(oldest);
      }
    },
    read(session, from, number) {
      const entries = tails.get(session)?.entries;
      if (!entries) return undefined;
      let unread = entries.length;
      while (unread > 0 && (entries[unread - 1]?.entry.key ?? '') >= from) unread -= 1;
      const next = entries[unread]?.entry;
      if (next && next.number !== number + 1) return undefined;
      const readable: FeedEntry[] = [];
      for (const { entry, seq } of entries.slice(unread)) {
        if (!isDurable(seq)) break;
        readable.push(entry);
      }
      return readable;
    },
  };
}

function countChars({ key, next, item }: FeedEntry): number {
  const { cursor, request_id } = item.gap ? { cursor: '', request_id: '' } : item;
  return key.length + next.length + cursor.length + request_id.length + OVERHEAD_CHARS;
}
