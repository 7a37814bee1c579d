/** The pages of the list: where its rows stand, and the buttons to newer and older ones. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useConsole } from '../../gateway/console.ts';
import { describeError } from '../../parts/describe-error.ts';
import { formatLeast, formatNumber } from '../../parts/format.ts';
import { PageButtons } from '../../parts/page-buttons.tsx';
import { showToast } from '../../parts/toast.tsx';
import { buildTaskQuery, readValue, TASK_KEYS, type Token, writeTokens } from '../../routing/filter.ts';
import { changeSearch } from '../../routing/routes.ts';
import { PAGE_SIZE, type TaskList } from './task-rows.ts';

export type PagerProps = {
  readonly tasks: TaskList;
  readonly tokens: readonly Token[];
  readonly cursor: string | null;
};

/** How many rows stand before a cursor, for each cursor that this page has made. */
const before = new Map<string, number>();

/** Whether the tasks are listed by creation, newest first. */
export function isByCreation(tokens: readonly Token[]): boolean {
  return readValue(tokens, 'ended') === null && readValue(tokens, 'waiting_for_answer') !== 'true';
}

export function Pager({ tasks, tokens, cursor }: PagerProps): VNode {
  const { client, time } = useConsole();
  const [isBusy, setBusy] = useState(false);
  const counts = tasks.counts.value.value;
  const shown = tasks.list?.shown.length ?? 0;
  const skipped = cursor === null ? 0 : before.get(cursor);
  const range =
    skipped === undefined || shown === 0
      ? `${formatNumber(shown)} rows`
      : `${formatNumber(skipped + 1)} to ${formatNumber(skipped + shown)}`;
  /** The next page begins behind the shown rows, not behind all rows that were read. */
  const showOlder = async (): Promise<void> => {
    setBusy(true);
    try {
      const query = { ...buildTaskQuery(tokens, time.now.peek()), limit: PAGE_SIZE };
      const first = isByCreation(tokens) ? tasks.list?.shown[0]?.row.create_time : undefined;
      const from =
        cursor === null ? (first === undefined ? {} : { created_before: first + 0.001 }) : { cursor };
      const found = await client.readTasks({ ...query, ...from })(null, new AbortController().signal);
      const next = found === 'unchanged' ? null : found.value.next_cursor;
      if (next === null) return;
      before.set(next, (skipped ?? 0) + shown);
      changeSearch(writeTokens(tokens, TASK_KEYS, next), { push: true });
      scrollTo(0, 0);
    } catch (error) {
      showToast({ tone: 'bad', text: `Could not read the older tasks: ${describeError(error)}.` });
    } finally {
      setBusy(false);
    }
  };
  const showNewer = (): void => {
    if ((skipped ?? 0) > PAGE_SIZE) history.back();
    else changeSearch(writeTokens(tokens, TASK_KEYS), { push: true });
  };
  return (
    <div class="pager">
      <span>
        {range}
        {counts && ` of ${formatLeast(Math.max(counts.total, (skipped ?? 0) + shown), counts)}`}
      </span>
      <PageButtons
        onNewer={cursor === null ? undefined : showNewer}
        onOlder={tasks.hasOlder && !isBusy ? () => void showOlder() : undefined}
      />
    </div>
  );
}
