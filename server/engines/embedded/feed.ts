/**
 * A session's feed: its stored events, then live ones, in one loop. A reader knows the number of the last
 * event that it got. Numbers rise by one within a session, so a hole is noticed. Events are read from the
 * file, or from the tail that memory holds of a feed that is being read; neither has an event that is not
 * durable.
 *
 * A reader is in one of two states:
 *
 *   ┌─────────┐  the end of the feed is reached,        ┌─────────┐
 *   │ reading │ ──────────────────────────────────────▶ │ waiting │ ──▶ over: the signal fired,
 *   └─────────┘  or the store is out                    └─────────┘     or the store was closed
 *        ▲                                                   │
 *        └──── notified of an event, or of the recovery ─────┘
 */

import type { SharedReads } from '../../async/shared-reads.ts';
import { type Cursor, type FeedItem, FeedTrimmed, StoreDamaged } from '../../ports/store.ts';
import type { Notifications } from '../notifications.ts';
import type { Generation } from './generation.ts';
import { createFeedEntry, type FeedEntry } from './memory/feed-tails.ts';
import type { Generations } from './recovery.ts';
import { afterKey, cursorOf, eventKey, eventRange, readEvent, trimmedKey } from './storage/row-keys.ts';

/**
 * Few enough that reading them delays no other call; the next slice is read when the reader has taken this
 * one.
 */
const EVENTS_PER_SLICE = 32;

/**
 * Where a reader begins: at a key, after the event of that number. `hasGap`: events before it were trimmed
 * unread.
 */
type Start = { readonly from: string; readonly number: number; readonly hasGap: boolean };

/** The entries from a key on; of an empty slice also the number of the session's last trimmed event. */
export type FeedSlice = { readonly entries: readonly FeedEntry[]; readonly trimmedNumber: number };

type Deps = {
  readonly generations: Generations;
  readonly notifications: Notifications;
  readonly slices: SharedReads<FeedSlice>;
};

/** The topic of the notifications about a session's events. */
export function feedTopic(session: string): string {
  return `feed:${session}`;
}

/** Reads a feed as the port promises it. */
export async function* readFeed(
  deps: Deps,
  session: string,
  after: Cursor | null,
  signal: AbortSignal,
): AsyncGenerator<FeedItem> {
  const generation = deps.generations.current();
  const listener = deps.notifications.listen([feedTopic(session)], signal);
  try {
    const start = await findStart(generation, session, after);
    let { from, number } = start;
    if (start.hasGap && !signal.aborted) yield { gap: true };
    const { to } = eventRange(session);
    while (!signal.aborted) {
      const tail = deps.generations.currentOrNull()?.feedTails.read(session, from, number);
      const entries = tail ?? (await readSlice(deps, session, from, to, number));
      for (const entry of entries) {
        if (entry.number > number + 1) throw await explainMissing(deps, session, entry);
        if (signal.aborted) return;
        from = entry.next;
        number = entry.number;
        yield entry.item;
      }
      if ((tail || entries.length < EVENTS_PER_SLICE) && !(await listener.next())) return;
    }
  } finally {
    listener.close();
  }
}

/** After the cursor's event if it is stored in this session; else at the first stored event. */
async function findStart(generation: Generation, session: string, after: Cursor | null): Promise<Start> {
  const key = after === null ? undefined : eventKey(session, after);
  const event = key === undefined ? undefined : await generation.storage.get(key);
  if (key !== undefined && event !== undefined) {
    return { from: afterKey(key), number: readEvent(event).number, hasGap: false };
  }
  const number = await readTrimmedNumber(generation, session);
  return { from: eventRange(session).from, number, hasGap: number > 0 };
}

/** The next entries; none while the store is out. Throws when the reader's position was trimmed. */
async function readSlice(
  deps: Deps,
  session: string,
  from: string,
  to: string,
  number: number,
): Promise<readonly FeedEntry[]> {
  const generation = deps.generations.currentOrNull();
  if (!generation) return [];
  try {
    const { entries, trimmedNumber } = await deps.slices.read(from, () =>
      readStoredSlice(generation, session, from, to),
    );
    if (trimmedNumber > number) throw createFeedTrimmed(session);
    return entries;
  } catch (error) {
    if (error instanceof FeedTrimmed || deps.generations.currentOrNull() === generation) throw error;
    return [];
  }
}

async function readStoredSlice(
  generation: Generation,
  session: string,
  from: string,
  to: string,
): Promise<FeedSlice> {
  const rows = await generation.storage.scan({ from, to }, EVENTS_PER_SLICE);
  if (rows.length === 0) return { entries: [], trimmedNumber: await readTrimmedNumber(generation, session) };
  return { entries: rows.map(([key, text]) => readEntry(key, text)), trimmedNumber: 0 };
}

/**
 * Why the events before a stored one are missing. Numbers have no holes, so they were trimmed, or a damaged
 * database hides their rows.
 */
async function explainMissing({ generations }: Deps, session: string, entry: FeedEntry): Promise<Error> {
  // The generation in which the feed was opened may have ended since.
  const trimmedNumber = await readTrimmedNumber(generations.current(), session);
  if (trimmedNumber >= entry.number - 1) return createFeedTrimmed(session);
  return new StoreDamaged(
    `The database is damaged: the event before the one under "${entry.key}" can't be found.`,
  );
}

/** The number of the last event of a session that was removed; 0 if none was. */
export async function readTrimmedNumber(generation: Generation, session: string): Promise<number> {
  return Number((await generation.storage.get(trimmedKey(session))) ?? 0);
}

function readEntry(key: string, text: string): FeedEntry {
  return createFeedEntry(key, cursorOf(key), readEvent(text));
}

function createFeedTrimmed(session: string): FeedTrimmed {
  return new FeedTrimmed(
    `The reader of session "${session}" was too slow: events that it has not read were trimmed.`,
  );
}
