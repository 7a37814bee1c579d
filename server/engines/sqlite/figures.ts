/** Reads the figures: what commits have counted, and the tasks that ended last. */
import { buildActivity, levelsOf } from '../../domain/activity.ts';
import { readEnded, sortEnded } from '../../domain/ended-task.ts';
import { OUTCOMES } from '../../domain/history-record.ts';
import { fillOutcomes } from '../../domain/task-counts.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { Store } from '../../ports/store.ts';
import { type CountName, readStep, SELECT_COUNTS } from './counters.ts';
import { COUNT_NAMES } from './schema.ts';
import type { Prepare, Row } from './statements.ts';

export function createFigures(
  prepare: Prepare,
  nowMs: () => number,
  requireReadable: () => void,
): Pick<Store, 'readCounts' | 'readActivity' | 'readEnded'> {
  const selectCounts = prepare(SELECT_COUNTS);
  const selectOldest = prepare('SELECT at_ms FROM entry WHERE name = ? AND of = ? ORDER BY at_ms LIMIT 1');
  const selectTags = prepare('SELECT tag, waiting FROM tag LIMIT ?');
  const selectSteps = prepare('SELECT json FROM step');
  const selectEnded = prepare('SELECT json FROM ended ORDER BY ms DESC, task DESC LIMIT ?');

  function readAll(): { count(name: CountName): number; readonly step: unknown } {
    requireReadable();
    const row = selectCounts.get() ?? [];
    return { count: (name) => Number(row[COUNT_NAMES.indexOf(name)]), step: row[COUNT_NAMES.length] };
  }

  return {
    async readCounts(tagsMax) {
      const { count } = readAll();
      const oldest = selectOldest.get('waiting', '');
      return {
        pending: count('pending'),
        running: count('running'),
        waiting: count('waiting'),
        waitingForAnswer: count('waiting_for_answer'),
        ended: fillOutcomes(
          Object.fromEntries(OUTCOMES.map((outcome) => [outcome, count(`ended_${outcome}`)])),
        ),
        oldestWaitingMs: oldest ? Number(oldest[0]) : null,
        tags: selectTags.all(tagsMax).map(([tag, waiting]) => ({
          tag: String(tag),
          waiting: Number(waiting),
          oldestMs: Number(selectOldest.get('waiting-for', tag)?.[0]),
        })),
      };
    },
    async readActivity() {
      const { count, step } = readAll();
      const present = levelsOf(count('pending') + count('running'), count('waiting'));
      return buildActivity(
        [...selectSteps.all(), [step]].flatMap(([json]) => readStep(json) ?? []),
        present,
        nowMs(),
      );
    },
    async readEnded() {
      requireReadable();
      const rows = selectEnded.all(STORE_LIMITS.endedMax);
      return sortEnded(rows.flatMap(unlessDamaged(([json]) => readEnded(String(json)))));
    },
  };
}

/** Leaves out damaged rows, because nothing is decided on figures. */
function unlessDamaged<T>(read: (row: Row) => T): (row: Row) => readonly T[] {
  return (row) => {
    try {
      return [read(row)];
    } catch {
      return [];
    }
  };
}
