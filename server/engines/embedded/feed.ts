/**
 * A session's feed: its stored events, then live ones, in one loop. The reader's position is the number of the last
 * event it got; numbers count up by one within a session, so a hole is seen, and nothing is shown before it is durable
 * because events are read from the file alone.
 *
 * Modes: reading (a slice is there) → waiting (the end is reached; left by a hint, the signal or the store's end) →
 * reading. In an outage the reader waits; the life after it hints everybody.
 */
import { type Cursor, type FeedItem, FeedTrimmed } from '../../ports/store.ts';
import type { Notifications } from '../notifications.ts';
import type { SharedReads } from '../shared-reads.ts';
import type { Generation } from './generation.ts';
import type { Generations } from './recovery.ts';
import { afterKey, cursorOf, eventKey, eventRange, readEvent, trimmedKey } from './sqlite/row-keys.ts';

/** Events read at a time, so few that nobody notices; the next slice is read when the reader has taken this one. */
const SLICE = 32;

type Position = { readonly from: string; readonly number: number; readonly missed: boolean };

/** A stored event, with where the next one is looked for. All readers at one place are given the same. */
type Entry = {
  readonly next: string;
  readonly number: number;
  readonly item: FeedItem;
};

/** What follows a place; of an empty slice also how many events of the session are gone. */
export type Slice = { readonly entries: readonly Entry[]; readonly gone: number };

type Deps = {
  readonly generations: Generations;
  readonly notifications: Notifications;
  readonly slices: SharedReads<Slice>;
};

/** Reads a feed as the port promises it. */
export async function* readFeed(
  deps: Deps,
  session: string,
  after: Cursor | null,
  signal: AbortSignal,
): AsyncGenerator<FeedItem> {
  const generation = deps.generations.current();
  const listener = deps.notifications.listen(`feed:${session}`, signal);
  try {
    const start = await findStart(generation, session, after);
    let { from, number } = start;
    if (start.missed && !signal.aborted) yield { gap: true };
    const { to } = eventRange(session);
    while (!signal.aborted) {
      const entries = await readSlice(deps, session, from, to, number);
      for (const entry of entries) {
        if (entry.number > number + 1) throw trimmed(session);
        if (signal.aborted) return;
        from = entry.next;
        number = entry.number;
        yield entry.item;
      }
      if (entries.length < SLICE && !(await listener.next())) return;
    }
  } finally {
    listener.close();
  }
}

/** Behind the cursor's event if it is stored in this session; else at the beginning, behind what was trimmed. */
async function findStart(generation: Generation, session: string, after: Cursor | null): Promise<Position> {
  const key = after === null ? undefined : eventKey(session, after);
  const event = key === undefined ? undefined : await generation.storage.get(key);
  if (key !== undefined && event !== undefined) {
    return { from: afterKey(key), number: readEvent(event).number, missed: false };
  }
  const number = Number((await generation.storage.get(trimmedKey(session))) ?? 0);
  return { from: eventRange(session).from, number, missed: number > 0 };
}

/** What comes next; nothing while the store is out. An empty slice may mean that the reader's place is gone. */
async function readSlice(
  deps: Deps,
  session: string,
  from: string,
  to: string,
  number: number,
): Promise<readonly Entry[]> {
  const generation = deps.generations.currentOrNull();
  if (!generation) return [];
  try {
    const { entries, gone } = await deps.slices.read(from, () => readStored(generation, session, from, to));
    if (gone > number) throw trimmed(session);
    return entries;
  } catch (error) {
    if (error instanceof FeedTrimmed || deps.generations.currentOrNull() === generation) throw error;
    return [];
  }
}

async function readStored(generation: Generation, session: string, from: string, to: string): Promise<Slice> {
  const rows = await generation.storage.scan({ from, to }, SLICE);
  if (rows.length === 0) {
    return { entries: [], gone: Number((await generation.storage.get(trimmedKey(session))) ?? 0) };
  }
  return { entries: rows.map(([key, text]) => readEntry(key, text)), gone: 0 };
}

function readEntry(key: string, text: string): Entry {
  const { number, request_id } = readEvent(text);
  return { next: afterKey(key), number, item: { gap: false, cursor: cursorOf(key), request_id } };
}

function trimmed(session: string): FeedTrimmed {
  return new FeedTrimmed(
    `The reader of session "${session}" is so far behind that events it has not seen are no longer kept.`,
  );
}
