/**
 * Retention, in bounded turns: tasks by their end, rows with an end of their own, sessions over their maximum of
 * events. Everything is found by an index; nothing scans all.
 *
 * A turn reads first, then judges and changes in one go against what is known by then, so that a commit in between
 * is never undone.
 */
import type { TaskState } from '../../domain/task.ts';
import type { Retention } from '../../ports/store.ts';
import { listingsOf, putRow, removeRow } from './apply.ts';
import type { Group } from './groups.ts';
import { loadFeedEnd, loadRows, openEnvelope } from './known.ts';
import type { Life } from './life.ts';
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

/** Removes at most `limit` things; says how many went. `crowded`: sessions that got events since the last turn. */
export async function trimTurn(
  life: Life,
  retention: Retention,
  limit: number,
  nowMs: number,
  crowded: Set<string>,
): Promise<number> {
  let left = limit;
  left -= await trimEnded(life, retention, left, nowMs);
  if (left > 0) left -= await trimFaded(life, left, nowMs);
  for (const session of crowded) {
    if (left <= 0) break;
    const gone = await trimSession(life, session, retention, left, nowMs);
    left -= gone.count;
    if (gone.isDone) crowded.delete(session);
  }
  await life.groups.whenDurable(life.groups.lastSeq());
  return limit - left;
}

/** Tasks whose time is over: state, input, listings, event. */
async function trimEnded(life: Life, { keepTasksMs }: Retention, limit: number, nowMs: number) {
  const to = `${ENDED_PREFIX}${padMs(nowMs - keepTasksMs + 1)}`;
  const ended = await life.storage.scan({ from: ENDED_PREFIX, to }, limit);
  if (ended.length === 0) return 0;
  const ids = ended.map(([key]) => lastPart(key));
  const states = await Promise.all(ids.map((id) => life.storage.get(doneKey(id))));
  const events = ended.flatMap(([, event]) => (event === '' ? [] : [event]));
  const numbers = await readEvents(life, events);
  const sessions = [...new Set(events.map(sessionOf))];
  await bringFeedEnds(life, sessions);

  const { group, seq } = life.groups.join();
  for (const [index, [key]] of ended.entries()) {
    removeRow(group, key);
    const id = ids[index];
    const text = states[index];
    if (id === undefined || text === undefined || life.tasks.has(id)) continue;
    const state = JSON.parse(text).v as TaskState;
    for (const row of [doneKey(id), inputKey(id)]) {
      removeRow(group, row);
      life.values.note(row, null, seq, 0);
    }
    for (const row of listingsOf(state, id)) removeRow(group, row);
  }
  for (const session of sessions) {
    const keys = events.filter((event) => sessionOf(event) === session && numbers.has(event));
    removeEvents({ life, group, seq, nowMs, keepTasksMs }, session, keys, numbers);
  }
  return ended.length;
}

type Removal = {
  readonly life: Life;
  readonly group: Group;
  readonly seq: number;
  readonly nowMs: number;
  readonly keepTasksMs: number;
};

/** Removes events of a session and notes the last of them, so that readers learn that something is missing. */
function removeEvents(
  { life, group, seq, nowMs, keepTasksMs }: Removal,
  session: string,
  keys: readonly string[],
  numbers: ReadonlyMap<string, number>,
): void {
  if (keys.length === 0) return;
  for (const key of keys) removeRow(group, key);
  const gone = Math.max(...keys.map((key) => numbers.get(key) ?? 0));
  putRow(group, trimmedKey(session), String(gone));
  const end = life.feeds.peek(session);
  if (end && end.number <= gone) {
    life.feeds.note(session, { number: end.number, stored: false }, seq, session.length);
    // Readers may still come with an old cursor; after another such time the session is forgotten altogether.
    putRow(group, fadeKey(nowMs + keepTasksMs, trimmedKey(session)), '');
  }
  group.topics.add(`feed:${session}`);
}

async function readEvents(life: Life, keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const texts = await Promise.all(keys.map((key) => life.storage.get(key)));
  const numbers = new Map<string, number>();
  for (const [index, key] of keys.entries()) {
    const text = texts[index];
    if (text !== undefined) numbers.set(key, readEvent(text).number);
  }
  return numbers;
}

/** The ends of the feeds, all known at once when this resolves. */
async function bringFeedEnds(life: Life, sessions: readonly string[]): Promise<void> {
  for (;;) {
    const unknown = sessions.filter((session) => life.feeds.peek(session) === undefined);
    if (unknown.length === 0) return;
    await Promise.all(unknown.map((session) => loadFeedEnd(life, session)));
  }
}

function sessionOf(eventKey: string): string {
  return unescapePart(feedPathOf(eventKey).slice('feed/'.length));
}

/** Rows with an end of their own: idempotency keys, unreported tasks, marks of sessions long empty. */
async function trimFaded(life: Life, limit: number, nowMs: number): Promise<number> {
  const to = `${FADE_PREFIX}${padMs(nowMs + 1)}`;
  const fading = await life.storage.scan({ from: FADE_PREFIX, to }, limit);
  if (fading.length === 0) return 0;
  const rows = fading.map(([key]) => fadingKey(key));
  const keys = rows.filter((row) => row.startsWith('key/'));
  const marks = rows.filter((row) => row.startsWith('feed/'));
  await bringKeys(life, keys);
  await bringFeedEnds(life, marks.map(sessionOf));

  const { group, seq } = life.groups.join();
  for (const [key] of fading) removeRow(group, key);
  for (const row of rows) {
    if (row.startsWith('key/')) {
      // The key may have been used anew since: then its row has a later end.
      if (openEnvelope(life.values.peek(row) ?? undefined, nowMs)) continue;
      life.values.note(row, null, seq, 0);
    }
    if (row.startsWith('feed/')) {
      const session = sessionOf(row);
      if (life.feeds.peek(session)?.stored) continue;
      life.feeds.note(session, { number: 0, stored: false }, seq, session.length);
    }
    removeRow(group, row);
  }
  return fading.length;
}

async function bringKeys(life: Life, rows: readonly string[]): Promise<void> {
  for (;;) {
    const unknown = rows.filter((row) => life.values.peek(row) === undefined);
    if (unknown.length === 0) return;
    await loadRows(life, unknown);
  }
}

/** The oldest events of a session that has more than its maximum. */
async function trimSession(
  life: Life,
  session: string,
  { sessionEventsMax, keepTasksMs }: Retention,
  limit: number,
  nowMs: number,
): Promise<{ count: number; isDone: boolean }> {
  const range = eventRange(session);
  const [last] = await life.storage.scan(range, 1, true);
  const [first] = await life.storage.scan(range, 1);
  if (!first || !last) return { count: 0, isDone: true };
  const over = readEvent(last[1]).number - readEvent(first[1]).number + 1 - sessionEventsMax;
  if (over <= 0) return { count: 0, isDone: true };
  const rows = await life.storage.scan(range, Math.min(over, limit));
  const numbers = new Map(rows.map(([key, text]) => [key, readEvent(text).number]));
  await bringFeedEnds(life, [session]);
  const { group, seq } = life.groups.join();
  removeEvents({ life, group, seq, nowMs, keepTasksMs }, session, [...numbers.keys()], numbers);
  return { count: rows.length, isDone: rows.length >= over };
}
