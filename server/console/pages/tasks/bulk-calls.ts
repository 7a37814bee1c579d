/**
 * The calls of actions on many tasks: finding the ids that a filter means, cancelling, and submitting one
 * task again.
 */
import type { Console } from '../../gateway/console.ts';
import type { TaskFilterQuery } from '../../routing/filter.ts';
import { buildAgain, writeAgainKey } from '../submission/submit-again.ts';
import { type CancelPage, IDS_MAX } from './bulk.ts';

type Client = Console['client'];

/**
 * The tasks of an action: all that match a filter, or tasks by their ids. Only tasks submitted before
 * `createdBefore` count.
 */
export type BulkTarget =
  | { readonly kind: 'filter'; readonly filter: TaskFilterQuery; readonly createdBefore: number }
  | { readonly kind: 'ids'; readonly ids: readonly string[]; readonly createdBefore: number };

/**
 * Creates the function that cancels one page of the target, or counts it in a dry run. Tasks submitted at or
 * after `createdBefore` stay as they are.
 */
export function createCancelPage(
  client: Client,
  target: BulkTarget,
  { signal, dry_run = false }: { readonly signal: AbortSignal; readonly dry_run?: boolean },
): (cursor: string | null) => Promise<CancelPage> {
  const { createdBefore: created_before } = target;
  if (target.kind === 'filter') {
    const { filter } = target;
    return (cursor) =>
      client.cancelTasks({ filter, request_ids: null, created_before, dry_run, cursor }, signal);
  }
  // Ids are sent in parts. The cursor says where the part begins and, if the gateway returned a cursor of its
  // own, that too.
  return async (cursor) => {
    const [start = 0, inner = ''] =
      cursor === null ? [] : [Number(cursor.split(' ')[0]), cursor.split(' ')[1]];
    const request_ids = target.ids.slice(start, start + IDS_MAX);
    const page = await client.cancelTasks(
      { filter: null, request_ids, created_before, dry_run, cursor: inner === '' ? null : inner },
      signal,
    );
    const next = start + IDS_MAX;
    if (page.next_cursor !== null) return { ...page, next_cursor: `${start} ${page.next_cursor}` };
    return { ...page, next_cursor: next < target.ids.length ? `${next} ` : null };
  };
}

/** How many rows one call reads. */
const ROWS_LIMIT = 200;

/** Lists the ids of the target's tasks that have ended. */
export async function listEnded(
  client: Client,
  target: BulkTarget,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (target.kind === 'ids') return target.ids;
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const query = { ...target.filter, created_before: target.createdBefore, limit: ROWS_LIMIT };
    const found = await client.readTasks(cursor === undefined ? query : { ...query, cursor })(null, signal);
    if (found === 'unchanged') break;
    ids.push(
      ...found.value.tasks.filter(({ outcome }) => outcome !== null).map(({ request_id }) => request_id),
    );
    cursor = found.value.next_cursor ?? undefined;
  } while (cursor !== undefined && !signal.aborted);
  return ids;
}

/**
 * Submits a task again unchanged. `time` is when a person confirmed it. A repeat with the same `time` finds
 * the task that was created.
 */
export async function submitOneAgain(
  client: Client,
  request_id: string,
  time: number,
  signal: AbortSignal,
): Promise<void> {
  const [task, { queue_timeout }] = await Promise.all([
    client.sdk.getTask(request_id, { signal }),
    client.sdk.explainTask(request_id, { signal }),
  ]);
  const idempotencyKey = writeAgainKey(request_id, time);
  await client.sdk.submitTask(buildAgain(task, queue_timeout), { idempotencyKey, signal });
}
