/**
 * Reads the rows of the list. If a page has too few matches, the next pages are read too. Rows keep their
 * order.
 */
import { useRef, useState } from 'preact/hooks';
import { COUNTS_MS } from '../../gateway/client.ts';
import { useConsole, useWatch } from '../../gateway/console.ts';
import type { Read, Watch } from '../../gateway/polling.ts';
import type { TaskCounts, TaskPage, TaskQuery, TaskRow } from '../../gateway/shapes.ts';
import { stateOf } from '../../parts/chip.tsx';
import { type FrozenList, useFrozenList } from '../../parts/frozen-list.ts';
import { buildTaskQuery, type Token } from '../../routing/filter.ts';

/** How many rows a page has. */
export const PAGE_SIZE = 50;
/** More rows are read than shown, so that shown rows stay current while new ones come before them. */
const READ_LIMIT = 100;
/** How many calls one read makes if the gateway looks at many tasks that do not match. */
const CALLS_MAX = 4;

export type TaskList = {
  /** Undefined before the first read. */
  readonly list: FrozenList<TaskRow> | undefined;
  readonly page: TaskPage | undefined;
  readonly watch: Watch<TaskPage>;
  readonly counts: Watch<TaskCounts>;
  /** Shows what was read last, in its order. */
  showNew(): void;
  /** Shows tasks as cancelled at once, before they are read again. */
  noteCancelled(ids: readonly string[]): void;
  /** Whether rows follow after those that are shown. */
  readonly hasOlder: boolean;
};

/** The state of `stateOf()`, or `asking` while the task waits for an answer. */
export function stateOfRow(row: TaskRow): string {
  return row.waiting_for_answer ? 'asking' : stateOf(row);
}

const idOf = (row: TaskRow): string => row.request_id;
const rowsOf = ({ tasks, next_cursor }: TaskPage) => ({ rows: tasks, isComplete: next_cursor === null });

/** Keeps the rows and counts of a filter, from a cursor on, while the page is shown. */
export function useTaskList(tokens: readonly Token[], cursor: string | null): TaskList {
  const { client, time } = useConsole();
  const key = JSON.stringify([tokens, cursor]);
  const queryNow = (): TaskQuery => buildTaskQuery(tokens, time.now.peek());
  const watch = useWatch(
    `tasks ${key}`,
    followPages(
      (next) =>
        client.readTasks({
          ...queryNow(),
          limit: READ_LIMIT,
          ...(next === null ? {} : { cursor: next }),
        }),
      cursor,
    ),
  );
  const counts = useWatch(
    `counts ${key}`,
    (etag, signal) => client.readTaskCounts(queryNow())(etag, signal),
    COUNTS_MS,
  );
  const page = watch.value.value;
  const frozen = useFrozenList(key, page, { rowsOf, idOf, size: PAGE_SIZE });
  const [, redraw] = useState(0);
  const cancelled = useRef<ReadonlyMap<string, number>>(new Map());
  const list = frozen.list && patchCancelled(frozen.list, cancelled.current);
  return {
    page,
    watch,
    counts,
    list,
    noteCancelled(ids) {
      if (ids.length === 0) return;
      const now = time.now.peek();
      cancelled.current = new Map([...cancelled.current, ...ids.map((id) => [id, now] as const)]);
      redraw((count) => count + 1);
    },
    showNew: frozen.showNew,
    hasOlder:
      page !== undefined && (page.next_cursor !== null || page.tasks.length > (list?.shown.length ?? 0)),
  };
}

/** Marks tasks that were cancelled here as cancelled, until a read says so. Pure. */
export function patchCancelled(
  list: FrozenList<TaskRow>,
  cancelled: ReadonlyMap<string, number>,
): FrozenList<TaskRow> {
  if (cancelled.size === 0) return list;
  const shown = list.shown.map((one) => {
    const ended_time = cancelled.get(one.id);
    if (ended_time === undefined || one.row.outcome !== null) return one;
    const end = { status: 'failed', outcome: 'cancelled', error_info: 'cancelled by user' } as const;
    const waits = { waiting: false, waiting_for_answer: false, gives_up_time: null };
    return { ...one, row: { ...one.row, ...end, ...waits, ended_time } };
  });
  return { ...list, shown };
}

/** Creates a read that continues with the next cursor until a page is full or enough calls were made. */
function followPages(
  readPage: (cursor: string | null) => Read<TaskPage>,
  first: string | null,
): Read<TaskPage> {
  return async (etag, signal) => {
    const found = await readPage(first)(etag, signal);
    if (found === 'unchanged') return found;
    let { value } = found;
    for (let calls = 1; calls < CALLS_MAX && value.next_cursor !== null; calls += 1) {
      if (value.tasks.length >= PAGE_SIZE) break;
      const more = await readPage(value.next_cursor)(null, signal);
      if (more === 'unchanged') break;
      value = { ...more.value, tasks: [...value.tasks, ...more.value.tasks] };
    }
    // Without an ETag, because that of the first page says nothing about later pages.
    return value === found.value ? found : { value, etag: null };
  };
}
