/**
 * Retention, in bounded turns: tasks by their end, rows with an end of their own, sessions over their maximum of
 * events. Everything is found by an index; nothing scans all.
 *
 * A turn reads first, then judges and changes in one go against what is known by then, so that a commit in between
 * is never undone.
 */
import type { TaskState } from '../../domain/task.ts';
import type { Retention } from '../../ports/store.ts';
import { takeTurns } from '../patience.ts';
import { listingsOf, putRow, removeRow } from './apply.ts';
import type { Group } from './groups.ts';
import { type Brought, decideWith, feedEndOf, openEnvelope, rowOf } from './known.ts';
import type { Life } from './life.ts';
import type { Row } from './ordered-storage.ts';
import {
  doneKey,
  ENDED_PREFIX,
  eventRange,
  FADE_PREFIX,
  fadeKey,
  fadingKey,
  feedPathOf,
  inputKey,
  lastPart,
  padMs,
  readEvent,
  trimmedKey,
  unescapePart,
} from './rows.ts';

/** What is read and judged in one go, so that no other call waits long. */
const SLICE = 100;

/** One turn of retention. */
export type Turn = { readonly life: Life; readonly retention: Retention; readonly nowMs: number };

/**
 * Removes at most `limit` things and says how many went, when that is durable. `crowded`: the sessions that got events
 * lately; those that are within their maximum leave the set.
 */
export async function trimTurn(turn: Turn, limit: number, crowded: Set<string>): Promise<number> {
  const { life } = turn;
  let left = limit;
  for (;;) {
    const gone = await trimSlice(turn, Math.min(left, SLICE), crowded);
    left -= gone;
    // The next slice is found by what the file holds then.
    await life.groups.whenDurable(life.groups.lastSeq());
    if (gone === 0 || left <= 0) return limit - left;
    await takeTurns();
  }
}

async function trimSlice(turn: Turn, limit: number, crowded: Set<string>): Promise<number> {
  const gone = (await trimEnded(turn, limit)) || (await trimFaded(turn, limit));
  if (gone > 0) return gone;
  for (const session of crowded) {
    const fewer = await trimSession(turn, session, limit, crowded);
    if (fewer > 0) return fewer;
  }
  return 0;
}

/** Tasks whose time is over: state, input, listings, event. */
async function trimEnded(turn: Turn, limit: number): Promise<number> {
  const { life, retention, nowMs } = turn;
  const to = `${ENDED_PREFIX}${padMs(nowMs - retention.keepTasksMs + 1)}`;
  const ended = await life.storage.scan({ from: ENDED_PREFIX, to }, limit);
  const eventKeys = ended.flatMap(([, event]) => (event === '' ? [] : [event]));
  const events = await readRows(life, eventKeys);
  const sessions = [...new Set(eventKeys.map(sessionOf))];
  const rows = ended.map(([key]) => doneKey(lastPart(key)));
  if (ended.length === 0) return 0;
  await decideWith(life, { rows, sessions }, (brought) => {
    const { group, seq } = life.groups.join();
    for (const [key] of ended) {
      removeRow(group, key);
      forgetTask(life, brought, group, seq, lastPart(key));
    }
    for (const session of sessions) {
      const mine = events.filter(([key]) => sessionOf(key) === session);
      removeEvents(turn, brought, group, seq, session, mine);
    }
  });
  return ended.length;
}

function forgetTask(life: Life, brought: Brought, group: Group, seq: number, id: string): void {
  const state = rowOf(life, brought, doneKey(id))?.v as TaskState | undefined;
  if (!state || life.tasks.has(id)) return;
  for (const key of [doneKey(id), inputKey(id)]) {
    removeRow(group, key);
    life.values.note(key, null, seq, 0);
  }
  for (const key of listingsOf(state, id)) removeRow(group, key);
}

/** Removes events of a session and notes the last of them, so that readers learn that something is missing. */
function removeEvents(
  { life, nowMs, retention }: Turn,
  brought: Brought,
  group: Group,
  seq: number,
  session: string,
  events: readonly Row[],
): void {
  if (events.length === 0) return;
  for (const [key] of events) removeRow(group, key);
  const gone = Math.max(...events.map(([, text]) => readEvent(text).number));
  putRow(group, trimmedKey(session), String(gone));
  if (feedEndOf(life, brought, session).number <= gone) {
    life.feeds.note(session, { number: gone, stored: false }, seq, session.length);
    // Readers may still come with an old cursor; after another such time the session is forgotten altogether.
    putRow(group, fadeKey(nowMs + retention.keepTasksMs, trimmedKey(session)), '');
  }
  group.topics.add(`feed:${session}`);
}

async function readRows(life: Life, keys: readonly string[]): Promise<readonly Row[]> {
  const texts = await Promise.all(keys.map((key) => life.storage.get(key)));
  return keys.flatMap((key, index): Row[] => {
    const text = texts[index];
    return text === undefined ? [] : [[key, text]];
  });
}

function sessionOf(feedRow: string): string {
  return unescapePart(feedPathOf(feedRow).slice('feed/'.length));
}

/** Rows with an end of their own: idempotency keys, unreported tasks, marks of sessions long empty. */
async function trimFaded({ life, nowMs }: Turn, limit: number): Promise<number> {
  const to = `${FADE_PREFIX}${padMs(nowMs + 1)}`;
  const fading = await life.storage.scan({ from: FADE_PREFIX, to }, limit);
  if (fading.length === 0) return 0;
  const rows = fading.map(([key]) => fadingKey(key));
  const keys = rows.filter((row) => row.startsWith('key/'));
  const sessions = rows.filter((row) => row.startsWith('feed/')).map(sessionOf);
  await decideWith(life, { rows: keys, sessions }, (brought) => {
    const { group, seq } = life.groups.join();
    for (const [key] of fading) removeRow(group, key);
    for (const row of rows) {
      if (isWantedAgain(life, brought, row, nowMs)) continue;
      removeRow(group, row);
      if (row.startsWith('key/')) life.values.note(row, null, seq, 0);
      if (row.startsWith('feed/')) life.feeds.note(sessionOf(row), { number: 0, stored: false }, seq, 0);
    }
  });
  return fading.length;
}

/** A key may have been used anew, a session may have got events again, since their end was set. */
function isWantedAgain(life: Life, brought: Brought, row: string, nowMs: number): boolean {
  if (row.startsWith('key/')) return openEnvelope(rowOf(life, brought, row), nowMs) !== undefined;
  return row.startsWith('feed/') && feedEndOf(life, brought, sessionOf(row)).stored;
}

/** The oldest events of a session that has more than its maximum. */
async function trimSession(
  turn: Turn,
  session: string,
  limit: number,
  crowded: Set<string>,
): Promise<number> {
  const { life, retention } = turn;
  const range = eventRange(session);
  const [last] = await life.storage.scan(range, 1, true);
  const [first] = await life.storage.scan(range, 1);
  const stored = first && last ? readEvent(last[1]).number - readEvent(first[1]).number + 1 : 0;
  const over = stored - retention.sessionEventsMax;
  const rows = over > 0 ? await life.storage.scan(range, Math.min(over, limit)) : [];
  if (rows.length >= over) crowded.delete(session);
  if (rows.length === 0) return 0;
  await decideWith(life, { sessions: [session] }, (brought) => {
    const { group, seq } = life.groups.join();
    removeEvents(turn, brought, group, seq, session, rows);
  });
  return rows.length;
}
