/**
 * A session's feed: its stored events, then live ones, in one loop. The reader's position is the cursor of the last event
 * it got; what was trimmed away behind it shows by the session's mark.
 *
 * Modes: reading (a slice is there) → waiting (the end is reached; left by a hint, the signal or the store's end) →
 * reading. In an outage the reader waits; when the line is back everybody is hinted.
 */
import { type Cursor, type FeedItem, FeedTrimmed, StoreUnavailable } from '../../ports/store.ts';
import type { Notifications } from '../notifications.ts';
import type { SharedReads } from '../shared-reads.ts';
import type { Reply } from './client.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

/** Events read at a time; the next slice is read when the reader has taken this one. */
const SLICE = 100;
const CURSOR = /^\d{1,15}-\d{1,15}$/;

type Deps = {
  readonly connection: Connection;
  readonly notifications: Notifications;
  readonly slices: SharedReads<Slice>;
};
type Event = { readonly cursor: Cursor; readonly request_id: string };
export type Slice = {
  readonly isStored: boolean;
  readonly trimmed: Cursor | null;
  readonly events: readonly Event[];
};

/** Reads a feed as the port promises it. */
export async function* readFeed(
  deps: Deps,
  session: string,
  after: Cursor | null,
  signal: AbortSignal,
): AsyncGenerator<FeedItem> {
  deps.connection.requireUp();
  const listener = deps.notifications.listen(`feed:${session}`, signal);
  try {
    if (signal.aborted) return;
    const known = after !== null && CURSOR.test(after) ? after : '';
    const start = await readSlice(deps, session, known, 'start');
    let position = start.isStored ? known : (start.trimmed ?? '');
    if ((!start.isStored && start.trimmed !== null) || isMissing(start, position)) {
      if (!signal.aborted) yield { gap: true };
    }
    for (let slice: Slice | undefined = start; ; slice = await readOn(deps, session, position)) {
      if (slice && slice !== start && isMissing(slice, position)) throw trimmed(session);
      for (const event of slice?.events ?? []) {
        if (signal.aborted) return;
        position = event.cursor;
        yield { gap: false, ...event };
      }
      if ((slice?.events.length ?? 0) < SLICE && !(await listener.next())) return;
    }
  } finally {
    listener.close();
  }
}

/** The next slice; undefined in an outage. */
async function readOn(deps: Deps, session: string, position: string): Promise<Slice | undefined> {
  try {
    // An event wakes all readers of its feed, and most ask for the same.
    const key = `${position} ${session}`;
    return await deps.slices.read(key, () => readSlice(deps, session, position, 'on'));
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}

async function readSlice(
  { connection }: Deps,
  session: string,
  cursor: string,
  mode: 'start' | 'on',
): Promise<Slice> {
  const reply = (await connection.call(scripts.feed, [
    session,
    cursor,
    mode,
    String(SLICE),
  ])) as readonly Reply[];
  const [isStored, trimmedAt, entries] = reply;
  const texts = entries as readonly string[];
  const events: Event[] = [];
  for (let index = 0; index + 1 < texts.length; index += 2) {
    events.push({ cursor: texts[index] ?? '', request_id: texts[index + 1] ?? '' });
  }
  return { isStored: isStored === 1, trimmed: trimmedAt === null ? null : String(trimmedAt), events };
}

/** Whether events behind the position were trimmed away. */
function isMissing({ trimmed: highWaterMark }: Slice, position: Cursor | ''): boolean {
  return highWaterMark !== null && (position === '' || isLater(highWaterMark, position));
}

function isLater(cursor: Cursor, other: Cursor): boolean {
  const [ms = 0, number = 0] = cursor.split('-').map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split('-').map(Number);
  return ms === otherMs ? number > otherNumber : ms > otherMs;
}

function trimmed(session: string): FeedTrimmed {
  return new FeedTrimmed(
    `The reader of session "${session}" is so far behind that events it has not seen are no longer kept.`,
  );
}
