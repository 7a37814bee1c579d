/**
 * A session's feed: stored events, then new events, in one loop. The reader's position is the cursor of its
 * last event. If the session's high-water mark is beyond this position, retention has removed events that the
 * reader has not seen.
 *
 * The reader reads slices until one is not full, then waits for a notification and reads again. The signal,
 * or closing the store, ends the feed. In an outage the reader waits too: all readers are notified when the
 * connection is open again or replicas acknowledge again.
 */

import type { SharedReads } from '../../../async/shared-reads.ts';
import type { TaskState } from '../../../domain/task.ts';
import { type Cursor, type FeedItem, FeedTrimmed, StoreUnavailable } from '../../../ports/store.ts';
import type { Notifications } from '../../notifications.ts';
import { parseValue } from '../../single-values.ts';
import type { Reply } from '../client/client.ts';
import type { Connection } from '../connection/connection.ts';
import { scripts } from '../scripts.ts';

/**
 * How many events a slice has. The next slice is read when the reader has taken this one. So a reader that
 * stands still keeps only the short states of one slice in memory.
 */
const SLICE = 20;
const CURSOR = /^\d{1,15}-\d{1,15}$/;

type FeedDeps = {
  readonly connection: Connection;
  readonly notifications: Notifications;
  readonly slices: SharedReads<Slice>;
};
/**
 * A stored event. All readers of a slice get the same object, so an event is rendered once for all readers.
 */
type StoredEvent = Omit<Extract<FeedItem, { gap: false }>, 'state'> & { state?: TaskState | undefined };
export type Slice = {
  /** Whether the event at the reader's position is stored. */
  readonly isStored: boolean;
  /**
   * The session's high-water mark: the cursor of the last event that retention removed; null if it removed
   * none.
   */
  readonly trimmed: Cursor | null;
  readonly events: readonly StoredEvent[];
};

export async function* readFeed(
  deps: FeedDeps,
  session: string,
  after: Cursor | null,
  signal: AbortSignal,
): AsyncGenerator<FeedItem> {
  deps.connection.requireUp();
  const listener = deps.notifications.listen([`feed:${session}`], signal);
  try {
    if (signal.aborted) return;
    const cursor = after !== null && CURSOR.test(after) ? after : '';
    const first = await readSlice(deps, session, cursor, 'start');
    let position = first.isStored ? cursor : (first.trimmed ?? '');
    const hasGap = (!first.isStored && first.trimmed !== null) || hasMissed(first, position);
    if (hasGap && !signal.aborted) yield { gap: true };
    for (let slice: Slice | undefined = first; ; slice = await readNext(deps, session, position)) {
      if (slice && slice !== first && hasMissed(slice, position)) throw feedTrimmed(session);
      const events = slice?.events ?? [];
      const isFull = events.length === SLICE;
      for (const event of events) {
        if (signal.aborted) return;
        position = event.cursor;
        yield event;
        event.state = undefined;
      }
      if (!isFull && !(await listener.next())) return;
    }
  } finally {
    listener.close();
  }
}

/** Reads the next slice; undefined in an outage. */
async function readNext(deps: FeedDeps, session: string, position: string): Promise<Slice | undefined> {
  try {
    // An event wakes all readers of its feed, and most readers are at the same position.
    const key = `${position} ${session}`;
    return await deps.slices.read(key, () => readSlice(deps, session, position, 'on'));
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}

async function readSlice(
  { connection }: FeedDeps,
  session: string,
  cursor: string,
  mode: 'start' | 'on',
): Promise<Slice> {
  const args = [session, cursor, mode, String(SLICE)];
  const reply = (await connection.call(scripts.feed, args)) as readonly Reply[];
  const [isStored, trimmed, entries] = reply;
  const texts = entries as readonly string[];
  const events: StoredEvent[] = [];
  for (let index = 0; index + 2 < texts.length; index += 3) {
    const [cursor = '', request_id = '', state = ''] = texts.slice(index, index + 3);
    events.push({ gap: false, cursor, request_id, state: parseState(request_id, state) });
  }
  return { isStored: isStored === 1, trimmed: trimmed === null ? null : String(trimmed), events };
}

/** Parses the state of a task that came with its event; undefined if the state must be read separately. */
function parseState(request_id: string, json: string): TaskState | undefined {
  try {
    return json === '' ? undefined : parseValue('task', request_id, json);
  } catch {
    // A separate read of the state will fail and say why.
    return undefined;
  }
}

/** Whether events after the position were trimmed. */
function hasMissed({ trimmed }: Slice, position: Cursor | ''): boolean {
  return trimmed !== null && (position === '' || isLater(trimmed, position));
}

function isLater(cursor: Cursor, other: Cursor): boolean {
  const [ms = 0, number = 0] = cursor.split('-').map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split('-').map(Number);
  return ms === otherMs ? number > otherNumber : ms > otherMs;
}

function feedTrimmed(session: string): FeedTrimmed {
  return new FeedTrimmed(
    `The reader of session "${session}" is so far behind that events it has not read are no longer kept.`,
  );
}
