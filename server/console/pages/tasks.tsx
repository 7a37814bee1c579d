/** The list of tasks: filter, counts, rows that stay in place, and actions on the selected rows. */
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useConsole } from '../gateway/console.ts';
import type { TaskCounts } from '../gateway/shapes.ts';
import { useCommands } from '../keyboard/commands.ts';
import { readFocusedId } from '../keyboard/rows.ts';
import { CodedText } from '../parts/coded-text.tsx';
import { copyText } from '../parts/copy-button.tsx';
import { FilterBar } from '../parts/filter-bar.tsx';
import { formatLeast } from '../parts/format.ts';
import { LiveNote } from '../parts/live-note.tsx';
import { NewRows } from '../parts/new-rows.tsx';
import { usePageTitle } from '../parts/page-title.ts';
import { PartFailed } from '../parts/part-failed.tsx';
import { Segments } from '../parts/segments.tsx';
import { announce } from '../parts/toast.tsx';
import {
  addToken,
  findFault,
  OUTCOMES,
  readTokens,
  readValue,
  removeToken,
  STATUSES,
  TASK_KEYS,
  type Token,
  writeTokens,
} from '../routing/filter.ts';
import { address, changeSearch, hrefOf, navigate } from '../routing/routes.ts';
import { writeFormQuery } from './task/verdicts.ts';
import { CausePanel, CauseSwitch, canGroup, isGrouped } from './tasks/causes.tsx';
import { NoRows } from './tasks/no-rows.tsx';
import { isByCreation, Pager } from './tasks/pager.tsx';
import {
  NO_SELECTION,
  type RowSelection,
  selectRange,
  selectWhole,
  togglePage,
  toggleRow,
} from './tasks/row-selection.ts';
import { SelectedTasks } from './tasks/selected-tasks.tsx';
import { type TaskList, useTaskList } from './tasks/task-rows.ts';
import { countSegment, readSegments, type TaskSegment, toggleSegment } from './tasks/task-segments.ts';
import { TaskTable } from './tasks/task-table.tsx';
import { describeTotal } from './tasks/total-words.ts';

/** Draws the page. Its filter is in the address. */
export function TasksPage(): VNode {
  const { search } = address.value;
  const tokens = readTokens(search, TASK_KEYS);
  const parameters = new URLSearchParams(search);
  const cursor = parameters.get('cursor');
  const isByCause = parameters.get('by') === 'cause';
  const fault = findFault(tokens, TASK_KEYS);
  usePageTitle('Tasks');
  const change = (next: readonly Token[]): void => changeSearch(writeFilter(next, isByCause));
  return <TasksBody key={fault} {...{ tokens, cursor, fault, isByCause }} onChange={change} />;
}

type BodyProps = {
  readonly tokens: readonly Token[];
  readonly cursor: string | null;
  readonly fault: string | null;
  /** Whether the address asks for the causes. If the filter has no causes, the tasks are shown. */
  readonly isByCause: boolean;
  readonly onChange: (tokens: readonly Token[]) => void;
};

function TasksBody({ tokens, cursor, fault, isByCause, onChange }: BodyProps): VNode {
  const areGrouped = isByCause && isGrouped(tokens);
  // A filter that the gateway would refuse is not sent.
  const tasks = useTaskList(fault === null ? tokens : [], cursor);
  const [selection, setSelection] = useState<RowSelection>(NO_SELECTION);
  const search = writeTokens(tokens, TASK_KEYS, cursor);
  useEffect(() => setSelection(NO_SELECTION), [search]);
  const shown = tasks.list?.shown.map(({ id }) => id) ?? [];
  const toggle = (id: string, isRange: boolean): void =>
    setSelection(isRange ? selectRange(selection, id, shown) : toggleRow(selection, id));
  useRowCommands({ toggle, tasks, selection, setSelection, shown });
  const counts = tasks.counts.value.value;
  const newCount = tasks.list?.newCount ?? 0;
  useEffect(() => {
    if (newCount > 0) announce(`${newCount} new ${newCount === 1 ? 'task' : 'tasks'}`);
  }, [newCount]);
  return (
    <>
      <div class="head">
        <h1>Tasks</h1>
        <span class="muted">{counts ? describeTotal(counts, tokens.length > 0) : ''}</span>
        <span class="grow" />
        <a class="btn primary" href={hrefOf({ page: 'submit' })}>
          Submit a task
        </a>
      </div>
      <TaskFilterBar {...{ tokens, onChange }} />
      {fault !== null && <p class="t-bad refusal">{fault}</p>}
      {isByCause && !areGrouped && (
        <p class="t-wait refusal">
          <CodedText text={NOT_GROUPED} />
        </p>
      )}
      <div class="barline">
        <StatusSegments {...{ tokens, counts, onChange }} />
        {canGroup(tokens) && (
          <CauseSwitch isOn={areGrouped} onToggle={() => changeSearch(writeGrouped(tokens, !areGrouped))} />
        )}
        <NewRows count={newCount} hasMissing={tasks.list?.hasMissing ?? false} onShow={tasks.showNew} />
        <span class="grow" />
        <LiveNote watch={tasks.watch} order={areGrouped ? 'Most tasks first' : describeOrder(tokens)} />
      </div>
      {areGrouped && <CausePanel tokens={tokens} />}
      {!areGrouped && (
        <TaskPanel {...{ tasks, tokens, cursor, selection, onChange }}>
          {(pinned, missingTags) => (
            <TaskTable
              rows={tasks.list?.shown ?? []}
              {...{ selection, pinned, missingTags }}
              onToggle={toggle}
              onTogglePage={() => setSelection(togglePage(selection, shown))}
            />
          )}
        </TaskPanel>
      )}
      {selection.ids.size > 0 && (
        <SelectedTasks
          {...{ tokens, selection, counts }}
          rows={tasks.list?.shown ?? []}
          onSelection={setSelection}
          onFinished={(cancelled) => {
            tasks.noteCancelled(cancelled);
            void tasks.watch.refresh();
            void tasks.counts.refresh();
          }}
        />
      )}
    </>
  );
}

function describeOrder(tokens: readonly Token[]): string {
  if (isByCreation(tokens)) return 'Newest first';
  return readValue(tokens, 'ended') === null ? 'Longest wait first' : 'Last ended first';
}

/** Adds `ended=15m`, so that the list has the same tasks as the groups of the last 15 minutes. */
function writeGrouped(tokens: readonly Token[], isByCause: boolean): string {
  const ended = addToken(removeToken(tokens, 'since'), { key: 'ended', value: '15m' });
  return writeFilter(ended, isByCause);
}

function writeFilter(tokens: readonly Token[], isByCause: boolean): string {
  const search = writeTokens(tokens, TASK_KEYS);
  return isByCause ? `${search || '?'}${search && '&'}by=cause` : search;
}

const NOT_GROUPED =
  '`by=cause` groups failed tasks with `ended=15m`, by type and agent alone. This filter shows others, so here are its tasks one by one.';

type RowCommands = {
  readonly toggle: (id: string, isRange: boolean) => void;
  readonly tasks: TaskList;
  readonly selection: RowSelection;
  readonly setSelection: (selection: RowSelection) => void;
  readonly shown: readonly string[];
};

/** The keys of the list. They act on the focused row. */
function useRowCommands({ toggle, tasks, selection, setSelection, shown }: RowCommands): void {
  const onFocused = (act: (id: string) => void) => () => {
    const id = readFocusedId();
    if (id !== null) act(id);
  };
  useCommands({
    row_select: onFocused((id) => toggle(id, false)),
    row_select_range: onFocused((id) => toggle(id, true)),
    select_all: () => shown.length > 0 && setSelection(selectWhole(shown)),
    copy_id: onFocused((id) => void copyText(id, 'Copied the id.')),
    show_new: tasks.showNew,
    submit_again: onFocused((id) => navigate(hrefOf({ page: 'submit' }, writeFormQuery(id)))),
    // If nothing is selected, the focused row becomes selected.
    cancel: onFocused((id) => selection.ids.size === 0 && toggle(id, false)),
    ...(selection.ids.size > 0 ? { close: () => setSelection(NO_SELECTION) } : {}),
  });
}

type FilterProps = Pick<BodyProps, 'tokens' | 'onChange'>;

function TaskFilterBar({ tokens, onChange }: FilterProps): VNode {
  const { overview } = useConsole();
  const tags = overview.value.value?.tags.map(({ tag }) => `tag=${tag}`) ?? [];
  const suggestions = [
    ...tags,
    ...['waiting=true', 'waiting=false', 'waiting_for_answer=true'],
    ...STATUSES.map((status) => `status=${status}`),
    ...OUTCOMES.map((outcome) => `outcome=${outcome}`),
    ...['15m', '1h', '24h'].map((since) => `since=${since}`),
    'ended=15m',
    ...TASK_KEYS.all.map((key) => `${key}=`),
  ];
  return (
    <FilterBar {...{ tokens, suggestions, onChange }} keys={TASK_KEYS} placeholder="tag= type= agent= id=" />
  );
}

const SEGMENTS = [
  { value: 'waiting', label: 'Waiting', icon: 'pending', tone: 't-wait' },
  { value: 'running', label: 'Running', icon: 'running', tone: 't-run' },
  { value: 'success', label: 'Success', icon: 'success', tone: 't-ok' },
  { value: 'failed', label: 'Failed', icon: 'failed', tone: 't-bad' },
  { value: 'no_agent', label: 'No agent', icon: 'no_agent', tone: 't-bad' },
  { value: 'cancelled', label: 'Cancelled', icon: 'cancelled', tone: 'muted' },
] as const satisfies readonly { readonly value: TaskSegment; readonly [key: string]: string }[];

function StatusSegments({
  tokens,
  counts,
  onChange,
}: FilterProps & { readonly counts: TaskCounts | undefined }): VNode {
  return (
    <Segments
      label="Status"
      segments={SEGMENTS.map((one) => ({
        ...one,
        count: counts && formatLeast(countSegment(counts, one.value), counts),
      }))}
      selected={readSegments(tokens)}
      onToggle={(value) => onChange(toggleSegment(tokens, value))}
    />
  );
}

type TaskPanelProps = {
  readonly tasks: TaskList;
  readonly tokens: readonly Token[];
  readonly cursor: string | null;
  readonly onChange: (tokens: readonly Token[]) => void;
  readonly children: (pinned: ReadonlySet<string>, missingTags: ReadonlySet<string>) => VNode;
};

/** Draws the rows, or what stands there instead, and the pages. */
function TaskPanel({ tasks, tokens, cursor, onChange, children }: TaskPanelProps): VNode {
  const { overview } = useConsole();
  const { list, watch } = tasks;
  const pinned = new Set(['type', 'tag', 'agent'].filter((key) => readValue(tokens, key) !== null));
  const missingTags = new Set(
    overview.value.value?.tags.filter(({ agents }) => agents === 0).map(({ tag }) => tag) ?? [],
  );
  const failure = watch.failure.value;
  return (
    <section class="panel">
      {failure && !list && <PartFailed what="the tasks" failure={failure} />}
      {list && list.shown.length > 0 && <div class="scroll">{children(pinned, missingTags)}</div>}
      {list && list.shown.length === 0 && <NoRows {...{ tokens, onChange }} hasMore={tasks.hasOlder} />}
      {list && (list.shown.length > 0 || cursor !== null || tasks.hasOlder) && (
        <Pager {...{ tasks, tokens, cursor }} />
      )}
    </section>
  );
}
