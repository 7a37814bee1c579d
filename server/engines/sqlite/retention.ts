/**
 * Retention, in bounded passes: removes tasks some time after they settled, expired keys and entries, output
 * above its limit, and the oldest events of a session with too many. An index finds each of these.
 */

import { messageOf } from '../../async/error-message.ts';
import { endingOf } from '../../domain/projection.ts';
import type { TaskState } from '../../domain/task.ts';
import type { Retention } from '../../ports/store.ts';
import type { GroupContext, Tables } from './commit.ts';
import type { Prepare, Row } from './statements.ts';

export type Trimming = {
  trim(retention: Retention, limit: number, group: TrimContext): number;
  /** Notes a new event of a session: a later pass looks whether the session has too many. */
  noteEvent(session: string): void;
};

type TrimContext = GroupContext & {
  onTrimmed(session: string): void;
  /** Called when a row that could not be read was removed. */
  onDamaged(what: string): void;
};

type EndedRow = readonly [ms: number, task: string, session: string | null, n: number | null];

function prepareTrimming(prepare: Prepare) {
  return {
    selectEnded: prepare('SELECT ms, task, session, n FROM ended WHERE ms <= ? ORDER BY ms, task LIMIT ?'),
    dropEnded: prepare('DELETE FROM ended WHERE ms = ? AND task = ?'),
    dropEvent: prepare('DELETE FROM event WHERE session = ? AND ms = ? AND n = ?'),
    noteTrimmed: prepare(
      'INSERT INTO feed VALUES (?1, ?2, ?3, ?4) ON CONFLICT (session) DO UPDATE SET ' +
        'trimmed_ms = iif((trimmed_ms, trimmed_n) < (?2, ?3), ?2, trimmed_ms), ' +
        'trimmed_n = iif((trimmed_ms, trimmed_n) < (?2, ?3), ?3, trimmed_n), expires_ms = ?4',
    ),
    selectFeeds: prepare('SELECT session FROM feed WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?'),
    hasEvents: prepare('SELECT 1 FROM event WHERE session = ? LIMIT 1'),
    keepFeed: prepare('UPDATE feed SET expires_ms = ? WHERE session = ?'),
    dropFeed: prepare('DELETE FROM feed WHERE session = ?'),
    countEvents: prepare('SELECT count(*) FROM event WHERE session = ?'),
    selectOldest: prepare('SELECT ms, n FROM event WHERE session = ? ORDER BY ms, n LIMIT ?'),
    nextSession: prepare('SELECT session FROM event WHERE session > ? ORDER BY session LIMIT 1'),
  };
}

export function createTrimming(prepare: Prepare, tables: Tables): Trimming {
  const statements = prepareTrimming(prepare);
  const { selectEnded, dropEnded, dropEvent, noteTrimmed, countEvents, selectOldest, nextSession } =
    statements;
  const { values, entries, outputs } = tables;
  /** Sessions that got events since a pass last looked at them. */
  const sessions = new Set<string>();
  /** The session of an earlier run that a pass looked at last; null once all are looked at. */
  let earlier: string | null = '';

  function removeEvent(session: string, [ms, n]: Row, keepMs: number, group: TrimContext): void {
    if (dropEvent.run(session, ms, n) === 0) return;
    noteTrimmed.run(session, ms, n, group.nowMs + keepMs);
    group.onTrimmed(session);
    group.topics.add(`feed:${session}`);
  }

  /** Pieces of output are removed first, in as many passes as they need. */
  function trimTask(
    [ms, task, session, n]: EndedRow,
    keepMs: number,
    limit: number,
    group: TrimContext,
  ): number {
    const pieces = outputs.remove(task, limit);
    if (pieces >= limit) return pieces;
    removeState(tables, task, group);
    for (const kind of ['task', 'input', 'details'] as const) values.remove(kind, task);
    if (session !== null) removeEvent(session, [ms, n], keepMs, group);
    dropEnded.run(ms, task);
    return Math.max(1, pieces);
  }

  function trimSession(session: string, retention: Retention, limit: number, group: TrimContext): number {
    const excess = Number(countEvents.get(session)?.[0] ?? 0) - retention.sessionEventsMax;
    const rows = excess > 0 ? selectOldest.all(session, Math.min(excess, limit)) : [];
    for (const row of rows) removeEvent(session, row, retention.keepTasksMs, group);
    if (rows.length >= excess) sessions.delete(session);
    return rows.length;
  }

  return {
    noteEvent: (session) => void sessions.add(session),
    trim(retention, limit, group) {
      const { keepTasksMs, outputBytesMax } = retention;
      const { nowMs, topics } = group;
      let removed = 0;
      const left = (): number => Math.max(0, limit - removed);
      for (const row of selectEnded.all(nowMs - keepTasksMs, limit)) {
        if (left() === 0) return removed;
        removed += trimTask(row as unknown as EndedRow, keepTasksMs, left(), group);
      }
      removed += outputs.trim(outputBytesMax, left(), (task) => topics.add(`output:${task}`));
      removed += values.trim(nowMs, left());
      removed += entries.trim(nowMs, left());
      removed += trimFeeds(statements, keepTasksMs, nowMs, left());
      for (let looks = 0; looks < limit && earlier !== null; looks += 1) {
        earlier = (nextSession.get(earlier)?.[0] as string | undefined) ?? null;
        if (earlier !== null) sessions.add(earlier);
      }
      let looks = 0;
      for (const session of sessions) {
        if (left() === 0 || looks === limit) break;
        looks += 1;
        removed += trimSession(session, retention, left(), group);
      }
      return removed;
    },
  };
}

/**
 * Removes the entries and the count of a settled task. A state that cannot be read is reported, and the task
 * is still removed.
 */
function removeState({ values, entries, counters }: Tables, task: string, { onDamaged }: TrimContext): void {
  const json = values.readJson('task', task);
  if (json === undefined) return;
  try {
    const state = JSON.parse(json) as TaskState;
    entries.remove(task, state);
    const outcome = endingOf(task, undefined, state)?.task.outcome;
    if (outcome) counters.add(`ended_${outcome}`, -1);
  } catch (error) {
    onDamaged(`the state of task ${task} (${messageOf(error)})`);
  }
}

/** Removes the trim marks of sessions without events. A session with events keeps its mark longer. */
function trimFeeds(
  { selectFeeds, hasEvents, keepFeed, dropFeed }: ReturnType<typeof prepareTrimming>,
  keepTasksMs: number,
  nowMs: number,
  limit: number,
): number {
  const rows = selectFeeds.all(nowMs, limit);
  for (const [session] of rows) {
    if (hasEvents.get(session)) keepFeed.run(nowMs + keepTasksMs, session);
    else dropFeed.run(session);
  }
  return rows.length;
}
