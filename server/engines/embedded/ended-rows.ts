/**
 * The rows of the retention index: a settled task by the time it settled, with the key of its event, and what
 * is kept of its end. Memory has the end of those that ended last; a start reads these again.
 */
import { readEnded, writeEnded } from '../../domain/ended-task.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { Log } from '../../ports/log.ts';
import type { Generation } from './generation.ts';
import { type CommitGroup, putRow } from './group-commit.ts';
import type { MemoryState } from './memory/state.ts';
import type { OrderedStorage } from './storage/ordered-storage.ts';
import { ENDED_RANGE, endedKey } from './storage/row-keys.ts';

/** Between the parts of a value: no key contains it. */
const SEPARATOR = '\n';

/** Puts the row of a task that settled at this time. Without an event its key is empty. */
export function putEnded(
  { generation, group }: { readonly generation: Generation; readonly group: CommitGroup },
  ms: number,
  id: string,
  eventKey: string,
): void {
  const ended = generation.ended.get(id);
  putRow(group, endedKey(ms, id), ended ? `${eventKey}${SEPARATOR}${writeEnded(ended)}` : eventKey);
}

/** The key of the event in the value of such a row; empty when there is none. */
export function eventKeyIn(text: string): string {
  return text.split(SEPARATOR, 1)[0] ?? '';
}

/** Loads those that ended last. They are figures: if one is damaged, it and older ones are left out. */
export async function loadEnded(
  storage: OrderedStorage,
  { ended }: MemoryState,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  try {
    const rows = await storage.scan(ENDED_RANGE, STORE_LIMITS.endedMax, true);
    const tasks = rows.flatMap(([, text]) => {
      const [, stored] = text.split(SEPARATOR, 2);
      return stored === undefined ? [] : [readEnded(stored)];
    });
    for (const task of tasks.reverse()) ended.set(task.request_id, task);
  } catch (error) {
    log.warn({ err: error }, 'the stored ends of the last tasks are damaged and were left out');
  }
}
