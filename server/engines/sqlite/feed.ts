/**
 * A session's feed: stored events, then live events, in one loop. Each reader has a tail, to which every
 * committed event is added. A reader reads the table when it begins, and wherever its tail was cut.
 *
 *   ┌─────────┐  the end of the feed is reached  ┌─────────┐
 *   │ reading │ ───────────────────────────────▶ │ waiting │ ──▶ over: the signal fired,
 *   └─────────┘                                  └─────────┘     or the store was closed
 *        ▲                                            │
 *        └──── notified of an event, or of the end of an outage
 */
import { type FeedItem, FeedTrimmed } from '../../ports/store.ts';
import type { Notifications } from '../notifications.ts';
import type { Prepare } from './statements.ts';

/** A cursor as numbers, which are compared in this order. */
export type Position = readonly [ms: number, n: number];

export type Feeds = {
  read(session: string, after: string | null, signal: AbortSignal): AsyncGenerator<FeedItem>;
  /** Called when an event has become durable. */
  note(session: string, at: Position, request_id: string): void;
  noteTrimmed(session: string): void;
  /** Makes each reader read the table next, because events may have been missed. */
  cutAll(): void;
};

type Event = readonly [ms: number, n: number, task: string];
type Tail = { events: Event[]; isCut: boolean; isTrimmed: boolean };

/** Few enough events that reading them delays no other call. */
const EVENTS_PER_SLICE = 32;
/** A reader that is further behind reads the table. */
const TAIL_MAX = 256;
const BEFORE_ALL: Position = [0, 0];

export function feedTopic(session: string): string {
  return `feed:${session}`;
}

export function createFeeds(
  prepare: Prepare,
  notifications: Notifications,
  isReadable: () => boolean,
): Feeds {
  const find = prepare('SELECT 1 FROM event WHERE session = ? AND ms = ? AND n = ?');
  const select = prepare(
    'SELECT ms, n, task FROM event WHERE session = ? AND (ms, n) > (?, ?) ORDER BY ms, n LIMIT ?',
  );
  const selectTrimmed = prepare('SELECT trimmed_ms, trimmed_n FROM feed WHERE session = ?');
  const tails = new Map<string, Set<Tail>>();

  const readTrimmed = (session: string): Position =>
    (selectTrimmed.get(session) as Position | undefined) ?? BEFORE_ALL;

  /** The position of a cursor; undefined unless its event is stored in this session. */
  function findStart(session: string, cursor: string | null): Position | undefined {
    const [, ms, n] = /^(\d{1,15})-(\d{1,9})$/.exec(cursor ?? '') ?? [];
    const at: Position = [Number(ms), Number(n)];
    // Another spelling of the same numbers is not this cursor.
    return writeCursor(at) === cursor && find.get(session, ...at) ? at : undefined;
  }

  function takeSlice(session: string, tail: Tail, [ms, n]: Position): readonly Event[] {
    if (!tail.isCut) return tail.events.splice(0, EVENTS_PER_SLICE);
    const rows = select.all(session, ms, n, EVENTS_PER_SLICE) as unknown as readonly Event[];
    tail.events = [];
    tail.isCut = rows.length === EVENTS_PER_SLICE;
    return rows;
  }

  function requireNotTrimmed(session: string, tail: Tail, at: Position): void {
    if (!tail.isTrimmed) return;
    tail.isTrimmed = false;
    if (!isBehind(readTrimmed(session), at)) return;
    throw new FeedTrimmed(
      `The reader of session "${session}" was too slow: events that it has not read were trimmed.`,
    );
  }

  async function* read(session: string, after: string | null, signal: AbortSignal): AsyncGenerator<FeedItem> {
    const listener = notifications.listen([feedTopic(session)], signal);
    const tail: Tail = { events: [], isCut: true, isTrimmed: false };
    const readers = tails.get(session) ?? new Set();
    tails.set(session, readers.add(tail));
    try {
      const start = findStart(session, after);
      let at = start ?? readTrimmed(session);
      if (!start && isBehind(at, BEFORE_ALL) && !signal.aborted) yield { gap: true };
      while (!signal.aborted) {
        if (isReadable()) {
          requireNotTrimmed(session, tail, at);
          for (const [ms, n, request_id] of takeSlice(session, tail, at)) {
            if (signal.aborted) return;
            if (!isBehind([ms, n], at)) continue;
            at = [ms, n];
            yield { gap: false, cursor: writeCursor(at), request_id };
          }
        }
        const hasMore = isReadable() && (tail.isCut || tail.events.length > 0);
        if (!hasMore && !(await listener.next())) return;
      }
    } finally {
      listener.close();
      readers.delete(tail);
      if (readers.size === 0) tails.delete(session);
    }
  }

  return {
    read,
    note(session, [ms, n], request_id) {
      for (const tail of tails.get(session) ?? []) {
        if (tail.events.length < TAIL_MAX) tail.events.push([ms, n, request_id]);
        else tail.isCut = true;
      }
    },
    noteTrimmed(session) {
      for (const tail of tails.get(session) ?? []) tail.isTrimmed = true;
    },
    cutAll() {
      for (const readers of tails.values()) for (const tail of readers) tail.isCut = true;
    },
  };
}

function writeCursor([ms, n]: Position): string {
  return `${ms}-${n}`;
}

/** Whether the first position comes after the second. */
function isBehind([ms, n]: Position, [otherMs, otherN]: Position): boolean {
  return ms > otherMs || (ms === otherMs && n > otherN);
}
