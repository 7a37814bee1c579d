/**
 * The entries of tasks in the listings, as the writer keeps them. Counts of tasks change with these entries.
 */
import { entriesOf, type IndexChange, type IndexEntry } from '../../domain/projection.ts';
import type { TaskState } from '../../domain/task.ts';
import type { Counters } from './counters.ts';
import type { Prepare } from './statements.ts';

export type Entries = {
  change(task: string, changes: readonly IndexChange[], nowMs: number): void;
  /** Removes the entries of a settled task, which has this state. */
  remove(task: string, state: TaskState): void;
  /** Whether a task waits for an agent with one of these tags. */
  isWaitedFor(tags: readonly string[]): boolean;
  /** Removes at most `limit` expired entries, and returns how many. */
  trim(nowMs: number, limit: number): number;
};

export function createEntries(prepare: Prepare, counters: Counters): Entries {
  const add = prepare(
    'INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET from_ms = excluded.from_ms, ' +
      'expires_ms = excluded.expires_ms',
  );
  const remove = prepare('DELETE FROM entry WHERE name = ? AND of = ? AND at_ms = ? AND task = ?');
  const addTag = prepare(
    'INSERT INTO tag VALUES (?, 1) ON CONFLICT (tag) DO UPDATE SET waiting = waiting + 1',
  );
  const dropLast = prepare('DELETE FROM tag WHERE tag = ? AND waiting = 1');
  const subtractTag = prepare('UPDATE tag SET waiting = waiting - 1 WHERE tag = ?');
  const findAnyTag = prepare('SELECT 1 FROM json_each(?) JOIN tag ON tag.tag = value LIMIT 1');
  const dropExpired = prepare(
    'DELETE FROM entry WHERE (name, of, at_ms, task) IN ' +
      '(SELECT name, of, at_ms, task FROM entry WHERE expires_ms <= ? LIMIT ?)',
  );

  function count({ op, index, of }: IndexChange, nowMs: number): void {
    const more = op === 'add' ? 1 : -1;
    switch (index) {
      case 'open':
        counters.beginStep(nowMs);
        counters.add(of === 'running' ? 'running' : 'pending', more);
        break;
      case 'waiting':
        counters.beginStep(nowMs);
        counters.add(index, more);
        break;
      case 'waiting-for-answer':
        counters.add('waiting_for_answer', more);
        break;
      case 'waiting-for':
        if (op === 'add') addTag.run(of);
        else if (dropLast.run(of) === 0) subtractTag.run(of);
        break;
    }
  }

  return {
    change(task, changes, nowMs) {
      for (const change of changes) {
        const { op, index, of, fromMs, atMs, keepMs } = change;
        count(change, nowMs);
        if (op === 'remove') remove.run(index, of, atMs, task);
        else add.run(index, of, atMs, task, fromMs, keepMs === undefined ? null : nowMs + keepMs);
      }
    },
    remove(task, state) {
      for (const { index, of, atMs } of entriesOf(state))
        remove.run(index satisfies IndexEntry['index'], of, atMs, task);
    },
    isWaitedFor: (tags) =>
      tags.length > 0 && counters.get('waiting') > 0 && findAnyTag.get(JSON.stringify(tags)) !== undefined,
    trim: (nowMs, limit) => dropExpired.run(nowMs, limit),
  };
}
