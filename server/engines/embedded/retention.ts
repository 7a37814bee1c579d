/**
 * Retention, in bounded turns: tasks by their end, rows with an end of their own, sessions over their maximum of
 * events. Everything is found by an index; nothing scans all.
 *
 * A turn reads first, then judges and changes in one go against what is known by then, so that a commit in between
 * is never undone.
 */

import { yieldToEventLoop } from '../../async/waiting.ts';
import type { TaskState } from '../../domain/task.ts';
import type { Retention } from '../../ports/store.ts';
import { listingsOf, putRow, removeRow } from './apply.ts';
import type { Generation } from './generation.ts';
import type { CommitGroup } from './group-commit.ts';
import { feedEndOf, openEnvelope, type Prefetched, prefetchAndDecide, rowOf } from './lookup.ts';
import type { Row } from './sqlite/ordered-storage.ts';
import {
  ENDED_PREFIX,
  EXPIRY_PREFIX,
  eventRange,
  expiringKey,
  expiryKey,
  feedPathOf,
  inputKey,
  lastPart,
  padMs,
  readEvent,
  settledKey,
  trimmedKey,
  unescapePart,
} from './sqlite/row-keys.ts';

/** What is read and judged in one go, so that no other call waits long. */
const SLICE = 100;

/** One turn of retention. */
export type Turn = { readonly generation: Generation; readonly retention: Retention; readonly nowMs: number };

/**
 * Removes at most `limit` things and says how many went, when that is durable. `crowded`: the sessions that got events
 * lately; those that are within their maximum leave the set.
 */
export async function trimTurn(turn: Turn, limit: number, overLimitSessions: Set<string>): Promise<number> {
  const { generation } = turn;
  let left = limit;
  for (;;) {
    const gone = await trimSlice(turn, Math.min(left, SLICE), overLimitSessions);
    left -= gone;
    // The next slice is found by what the file holds then.
    await generation.commits.whenDurable(generation.commits.lastSeq());
    if (gone === 0 || left <= 0) return limit - left;
    await yieldToEventLoop();
  }
}

async function trimSlice(turn: Turn, limit: number, overLimitSessions: Set<string>): Promise<number> {
  const gone = (await trimEnded(turn, limit)) || (await trimExpired(turn, limit));
  if (gone > 0) return gone;
  for (const session of overLimitSessions) {
    const fewer = await trimSession(turn, session, limit, overLimitSessions);
    if (fewer > 0) return fewer;
  }
  return 0;
}

/** Tasks whose time is over: state, input, listings, event. */
async function trimEnded(turn: Turn, limit: number): Promise<number> {
  const { generation, retention, nowMs } = turn;
  const to = `${ENDED_PREFIX}${padMs(nowMs - retention.keepTasksMs + 1)}`;
  const ended = await generation.storage.scan({ from: ENDED_PREFIX, to }, limit);
  const eventKeys = ended.flatMap(([, event]) => (event === '' ? [] : [event]));
  const events = await readRows(generation, eventKeys);
  const sessions = [...new Set(eventKeys.map(sessionOf))];
  const rows = ended.map(([key]) => settledKey(lastPart(key)));
  if (ended.length === 0) return 0;
  await prefetchAndDecide(generation, { rows, sessions }, (prefetched) => {
    const { group, seq } = generation.commits.join();
    for (const [key] of ended) {
      removeRow(group, key);
      forgetTask(generation, prefetched, group, seq, lastPart(key));
    }
    for (const session of sessions) {
      const mine = events.filter(([key]) => sessionOf(key) === session);
      removeEvents(turn, prefetched, group, seq, session, mine);
    }
  });
  return ended.length;
}

function forgetTask(
  generation: Generation,
  prefetched: Prefetched,
  group: CommitGroup,
  seq: number,
  id: string,
): void {
  const state = rowOf(generation, prefetched, settledKey(id))?.v as TaskState | undefined;
  if (!state || generation.tasks.has(id)) return;
  for (const key of [settledKey(id), inputKey(id)]) {
    removeRow(group, key);
    generation.recentRows.note(key, null, seq, 0);
  }
  for (const key of listingsOf(state, id)) removeRow(group, key);
}

/** Removes events of a session and notes the last of them, so that readers learn that something is missing. */
function removeEvents(
  { generation, nowMs, retention }: Turn,
  prefetched: Prefetched,
  group: CommitGroup,
  seq: number,
  session: string,
  events: readonly Row[],
): void {
  if (events.length === 0) return;
  for (const [key] of events) removeRow(group, key);
  const gone = Math.max(...events.map(([, text]) => readEvent(text).number));
  putRow(group, trimmedKey(session), String(gone));
  if (feedEndOf(generation, prefetched, session).number <= gone) {
    generation.feedEnds.note(session, { number: gone, stored: false }, seq, session.length);
    // Readers may still come with an old cursor; after another such time the session is forgotten altogether.
    putRow(group, expiryKey(nowMs + retention.keepTasksMs, trimmedKey(session)), '');
  }
  group.topics.add(`feed:${session}`);
}

async function readRows(generation: Generation, keys: readonly string[]): Promise<readonly Row[]> {
  const texts = await Promise.all(keys.map((key) => generation.storage.get(key)));
  return keys.flatMap((key, index): Row[] => {
    const text = texts[index];
    return text === undefined ? [] : [[key, text]];
  });
}

function sessionOf(feedRow: string): string {
  return unescapePart(feedPathOf(feedRow).slice('feed/'.length));
}

/** Rows with an end of their own: idempotency keys, unreported tasks, marks of sessions long empty. */
async function trimExpired({ generation, nowMs }: Turn, limit: number): Promise<number> {
  const to = `${EXPIRY_PREFIX}${padMs(nowMs + 1)}`;
  const fading = await generation.storage.scan({ from: EXPIRY_PREFIX, to }, limit);
  if (fading.length === 0) return 0;
  const rows = fading.map(([key]) => expiringKey(key));
  const keys = rows.filter((row) => row.startsWith('key/'));
  const sessions = rows.filter((row) => row.startsWith('feed/')).map(sessionOf);
  await prefetchAndDecide(generation, { rows: keys, sessions }, (prefetched) => {
    const { group, seq } = generation.commits.join();
    for (const [key] of fading) removeRow(group, key);
    for (const row of rows) {
      if (isInUseAgain(generation, prefetched, row, nowMs)) continue;
      removeRow(group, row);
      if (row.startsWith('key/')) generation.recentRows.note(row, null, seq, 0);
      if (row.startsWith('feed/'))
        generation.feedEnds.note(sessionOf(row), { number: 0, stored: false }, seq, 0);
    }
  });
  return fading.length;
}

/** A key may have been used anew, a session may have got events again, since their end was set. */
function isInUseAgain(generation: Generation, prefetched: Prefetched, row: string, nowMs: number): boolean {
  if (row.startsWith('key/')) return openEnvelope(rowOf(generation, prefetched, row), nowMs) !== undefined;
  return row.startsWith('feed/') && feedEndOf(generation, prefetched, sessionOf(row)).stored;
}

/** The oldest events of a session that has more than its maximum. */
async function trimSession(
  turn: Turn,
  session: string,
  limit: number,
  overLimitSessions: Set<string>,
): Promise<number> {
  const { generation, retention } = turn;
  const range = eventRange(session);
  const [last] = await generation.storage.scan(range, 1, true);
  const [first] = await generation.storage.scan(range, 1);
  const stored = first && last ? readEvent(last[1]).number - readEvent(first[1]).number + 1 : 0;
  const over = stored - retention.sessionEventsMax;
  const rows = over > 0 ? await generation.storage.scan(range, Math.min(over, limit)) : [];
  if (rows.length >= over) overLimitSessions.delete(session);
  if (rows.length === 0) return 0;
  await prefetchAndDecide(generation, { sessions: [session] }, (prefetched) => {
    const { group, seq } = generation.commits.join();
    removeEvents(turn, prefetched, group, seq, session, rows);
  });
  return rows.length;
}
