/**
 * Retention, in bounded passes. It removes tasks some time after they settled, rows that have expired,
 * output, and the oldest events of sessions that have too many. Everything is found by an index; nothing
 * scans all rows.
 *
 * Each step reads the file first, then decides and writes in one go on what memory holds by then, so that a
 * commit in between is never undone. Where a row that it reads is damaged, that row goes, with a line in the
 * log: nothing can read it any more, and it must not keep the others.
 */
import { yieldToEventLoop } from '../../async/waiting.ts';
import { hasDetails, type TaskState } from '../../domain/task.ts';
import type { Log } from '../../ports/log.ts';
import { type Retention, StoreDamaged } from '../../ports/store.ts';
import { writeActivity } from './activity-rows.ts';
import { eventKeyIn } from './ended-rows.ts';
import { feedTopic, readTrimmedNumber } from './feed.ts';
import type { Generation } from './generation.ts';
import { type CommitGroup, putRow, removeRow } from './group-commit.ts';
import { removeEntries } from './index-changes.ts';
import { findFeedEnd, findRow, openEnvelope, type Prefetched, prefetchAndDecide } from './lookup.ts';
import { trimOutput } from './output-retention.ts';
import { isDamagedRow, type Row } from './storage/ordered-storage.ts';
import {
  detailsKey,
  ENDED_RANGE,
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
} from './storage/row-keys.ts';

/**
 * How many rows are read, and then decided on, in one go: few enough that no other call waits long. The
 * first step after a start takes some times as long as later ones, because its code is not compiled yet.
 */
const ROWS_PER_STEP = 25;
/** Sessions that are looked at, and need nothing, before other work runs. */
const SESSIONS_AT_ONCE = 25;

/** One pass of retention. */
type TrimPass = {
  readonly generation: Generation;
  readonly retention: Retention;
  readonly nowMs: number;
  readonly log: Pick<Log, 'error'>;
  /** The damaged rows that were removed. */
  readonly removedRows: Set<string>;
};

/** Damaged rows that are remembered. */
const REMOVED_MAX = 1_000;

/**
 * Removes at most `limit` tasks, rows or events; resolves with how many it removed, when that is durable.
 * `sessionsToCheck` are the sessions that got events recently; those within their maximum are removed from
 * the set.
 */
export async function runTrimPass(
  pass: TrimPass,
  limit: number,
  sessionsToCheck: Set<string>,
): Promise<number> {
  const { generation } = pass;
  let remaining = limit;
  writeActivity(generation, pass.nowMs);
  for (;;) {
    const removed = await runTrimStep(pass, Math.min(remaining, ROWS_PER_STEP), sessionsToCheck);
    remaining -= removed;
    // The next step reads the file, so this one must be in it.
    await generation.commits.whenDurable(generation.commits.lastSeq());
    if (removed === 0 || remaining <= 0) return limit - remaining;
    await yieldToEventLoop();
  }
}

async function runTrimStep(pass: TrimPass, limit: number, sessionsToCheck: Set<string>): Promise<number> {
  for (const trim of [trimTasks, trimExpired, trimOutput]) {
    const removed = await trim(pass, limit).catch((error: unknown) => removeDamaged(pass, error));
    if (removed > 0) return removed;
  }
  let looked = 0;
  for (const session of sessionsToCheck) {
    looked += 1;
    if (looked % SESSIONS_AT_ONCE === 0) await yieldToEventLoop();
    const removedEvents = await trimSession(pass, session, limit, sessionsToCheck).catch((error: unknown) => {
      // Its readers get the error; it is checked again after its next event.
      if (!(error instanceof StoreDamaged)) throw error;
      sessionsToCheck.delete(session);
      return 0;
    });
    if (removedEvents > 0) return removedEvents;
  }
  return 0;
}

/** Removes the row that a step could not read; what it led to, such as listings, may stay. */
function removeDamaged({ generation, log, removedRows }: TrimPass, error: unknown): number {
  // A damaged key may be no valid text: then its row is still there.
  if (!isDamagedRow(error) || removedRows.has(error.key)) throw error;
  if (removedRows.size >= REMOVED_MAX) removedRows.clear();
  removedRows.add(error.key);
  const { group, seq } = generation.commits.join();
  removeRow(group, error.key);
  generation.recentRows.note(error.key, null, seq, 0);
  log.error({ err: error }, 'a damaged row was removed: what it held is past its time, or cannot be read');
  return 1;
}

/** Removes tasks that settled long enough ago: state, input, listings, event. */
async function trimTasks(pass: TrimPass, limit: number): Promise<number> {
  const { generation, retention, nowMs } = pass;
  const { from } = ENDED_RANGE;
  const to = `${from}${padMs(nowMs - retention.keepTasksMs + 1)}`;
  const indexRows = await generation.storage.scan({ from, to }, limit);
  const eventKeys = indexRows.map(([, text]) => eventKeyIn(text)).filter((key) => key !== '');
  const events = await readRows(generation, eventKeys);
  const sessions = [...new Set(eventKeys.map(sessionOf))];
  const marks = await Promise.all(sessions.map((session) => readTrimmedNumber(generation, session)));
  const rows = indexRows.map(([key]) => settledKey(lastPart(key)));
  if (indexRows.length === 0) return 0;
  await prefetchAndDecide(generation, { rows, sessions }, (prefetched) => {
    const { group, seq } = generation.commits.join();
    for (const [key] of indexRows) {
      removeRow(group, key);
      removeTask(generation, prefetched, group, seq, key);
    }
    for (const [index, session] of sessions.entries()) {
      const sessionEvents = events.filter(([key]) => sessionOf(key) === session);
      removeEvents(pass, prefetched, group, seq, { session, number: marks[index] ?? 0 }, sessionEvents);
    }
  });
  return indexRows.length;
}

function removeTask(
  generation: Generation,
  prefetched: Prefetched,
  group: CommitGroup,
  seq: number,
  indexKey: string,
): void {
  const id = lastPart(indexKey);
  generation.ended.delete(id);
  const state = findRow(generation, prefetched, settledKey(id))?.v as TaskState | undefined;
  for (const key of [settledKey(id), inputKey(id)]) {
    removeRow(group, key);
    generation.recentRows.note(key, null, seq, 0);
  }
  if (!state) return;
  if (hasDetails(state)) removeRow(group, detailsKey(id));
  removeEntries({ generation, group }, id, state);
}

/**
 * Removes events of a session and stores the highest number of all that were removed, so that readers notice
 * the gap; `number` is the one that is stored so far. Tasks that ended in the same millisecond are removed in
 * the order of their ids, so an earlier step may have removed a later event.
 */
function removeEvents(
  { generation, nowMs, retention }: TrimPass,
  prefetched: Prefetched,
  group: CommitGroup,
  seq: number,
  { session, number }: { readonly session: string; readonly number: number },
  events: readonly Row[],
): void {
  if (events.length === 0) return;
  for (const [key] of events) removeRow(group, key);
  generation.feedTails.drop(session);
  const trimmedNumber = Math.max(number, ...events.map(([, text]) => readEvent(text).number));
  putRow(group, trimmedKey(session), String(trimmedNumber));
  if (findFeedEnd(generation, prefetched, session).number <= trimmedNumber) {
    generation.feedEnds.note(session, { number: trimmedNumber, stored: false }, seq, session.length);
    // Readers may still return with an old cursor; after the same time again, this row expires too.
    putRow(group, expiryKey(nowMs + retention.keepTasksMs, trimmedKey(session)), '');
  }
  group.topics.add(feedTopic(session));
}

async function readRows(generation: Generation, keys: readonly string[]): Promise<readonly Row[]> {
  const texts = await Promise.all(keys.map((key) => generation.storage.get(key)));
  return keys.flatMap((key, index): Row[] => {
    const text = texts[index];
    return text === undefined ? [] : [[key, text]];
  });
}

function sessionOf(feedKey: string): string {
  return unescapePart(feedPathOf(feedKey).slice('feed/'.length));
}

/** Removes expired rows: idempotency keys, unreported tasks, the last trimmed numbers of empty sessions. */
async function trimExpired({ generation, nowMs }: TrimPass, limit: number): Promise<number> {
  const to = `${EXPIRY_PREFIX}${padMs(nowMs + 1)}`;
  const indexRows = await generation.storage.scan({ from: EXPIRY_PREFIX, to }, limit);
  if (indexRows.length === 0) return 0;
  const rows = indexRows.map(([key]) => expiringKey(key));
  const keys = rows.filter((row) => row.startsWith('key/'));
  const sessions = rows.filter((row) => row.startsWith('feed/')).map(sessionOf);
  await prefetchAndDecide(generation, { rows: keys, sessions }, (prefetched) => {
    const { group, seq } = generation.commits.join();
    for (const [key] of indexRows) removeRow(group, key);
    for (const row of rows) {
      if (isInUseAgain(generation, prefetched, row, nowMs)) continue;
      removeRow(group, row);
      if (row.startsWith('key/')) generation.recentRows.note(row, null, seq, 0);
      if (row.startsWith('feed/')) {
        generation.feedEnds.note(sessionOf(row), { number: 0, stored: false }, seq, 0);
      }
    }
  });
  return indexRows.length;
}

/**
 * Since the index row was written, the key may have been used again, or the session may have got new events.
 */
function isInUseAgain(generation: Generation, prefetched: Prefetched, row: string, nowMs: number): boolean {
  if (row.startsWith('key/')) return openEnvelope(findRow(generation, prefetched, row), nowMs) !== undefined;
  return row.startsWith('feed/') && findFeedEnd(generation, prefetched, sessionOf(row)).stored;
}

/** Removes the oldest events of a session that has more than its maximum. */
async function trimSession(
  pass: TrimPass,
  session: string,
  limit: number,
  sessionsToCheck: Set<string>,
): Promise<number> {
  const { generation, retention } = pass;
  const range = eventRange(session);
  const [last] = await generation.storage.scan(range, 1, true);
  const [first] = await generation.storage.scan(range, 1);
  const stored = first && last ? readEvent(last[1]).number - readEvent(first[1]).number + 1 : 0;
  const excess = stored - retention.sessionEventsMax;
  const rows = excess > 0 ? await generation.storage.scan(range, Math.min(excess, limit)) : [];
  if (rows.length >= excess) sessionsToCheck.delete(session);
  if (rows.length === 0) return 0;
  const number = await readTrimmedNumber(generation, session);
  await prefetchAndDecide(generation, { sessions: [session] }, (prefetched) => {
    const { group, seq } = generation.commits.join();
    removeEvents(pass, prefetched, group, seq, { session, number }, rows);
  });
  return rows.length;
}
