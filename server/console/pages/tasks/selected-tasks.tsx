/** The bar for the selected tasks, its dialogs, and the actions they run. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useConsole } from '../../gateway/console.ts';
import type { TaskCounts, TaskRow } from '../../gateway/shapes.ts';
import { useCommands } from '../../keyboard/commands.ts';
import { formatLeast } from '../../parts/format.ts';
import type { ShownRow } from '../../parts/frozen-list.ts';
import { underWay } from '../../parts/under-way.tsx';
import { buildTaskQuery, type Token } from '../../routing/filter.ts';
import { type ChosenCounts, countChosen, countMatching, countOpen } from './bulk.ts';
import { BulkBar } from './bulk-bar.tsx';
import type { BulkTarget } from './bulk-calls.ts';
import { AgainDialog, CancelDialog } from './bulk-dialogs.tsx';
import { NO_SELECTION, type RowSelection, selectWhole } from './row-selection.ts';
import { useBulk } from './use-bulk.ts';

export type SelectedTasksProps = {
  readonly tokens: readonly Token[];
  readonly selection: RowSelection;
  readonly counts: TaskCounts | undefined;
  readonly rows: readonly ShownRow<TaskRow>[];
  readonly onSelection: (selection: RowSelection) => void;
  /** Called when an action is over, however it ended, with the ids of tasks that it cancelled. */
  readonly onFinished: (cancelled: readonly string[]) => void;
};

/**
 * The question of the dialog. It is fixed when the dialog opens, so that nothing changes while a person
 * reads.
 */
type Question = {
  readonly kind: 'cancel' | 'again';
  readonly counts: ChosenCounts;
  readonly target: BulkTarget;
};

export function SelectedTasks({
  tokens,
  selection,
  counts,
  rows,
  onSelection,
  onFinished,
}: SelectedTasksProps): VNode {
  const { changeRefusal, submitRefusal, time } = useConsole();
  const [question, setQuestion] = useState<Question | null>(null);
  const bulk = useBulk();
  const selected = rows.filter(({ id }) => selection.ids.has(id)).map(({ row }) => row);
  const isWhole = selection.isWhole && counts !== undefined;
  const chosen = isWhole ? countMatching(counts, buildTaskQuery(tokens, counts.time)) : countChosen(selected);
  /** Describes the tasks of the action, as they are counted now. */
  const chooseTarget = (isTerminal: boolean): BulkTarget => {
    const createdBefore = isWhole ? counts.time : time.now.peek() + 1;
    if (isWhole) return { kind: 'filter', filter: buildTaskQuery(tokens, counts.time), createdBefore };
    const ids = selected
      .filter(({ outcome }) => (outcome !== null) === isTerminal)
      .map(({ request_id }) => request_id);
    return { kind: 'ids', ids, createdBefore };
  };
  const ask = (kind: Question['kind']): void =>
    setQuestion({ kind, counts: chosen, target: chooseTarget(kind === 'again') });
  const isFree = underWay.value === null;
  const canCancel = changeRefusal.value === null && countOpen(chosen) > 0 && isFree;
  const canSubmit = submitRefusal.value === null && chosen.ended > 0 && isFree;
  useCommands({
    cancel: () => canCancel && ask('cancel'),
    submit_again: () => canSubmit && ask('again'),
  });
  const confirm = async ({ kind, target }: Question, count: number): Promise<void> => {
    setQuestion(null);
    const isMeant = ({ outcome, create_time }: TaskRow): boolean =>
      outcome === null && create_time < target.createdBefore;
    const meant = selected.filter(isMeant).map(({ request_id }) => request_id);
    const areCancelled = kind === 'cancel' && (await bulk.cancel(target, count));
    if (kind === 'again') await bulk.submitAgain(target, count);
    onSelection(NO_SELECTION);
    onFinished(areCancelled ? meant : []);
  };
  const shown = rows.map(({ id }) => id);
  const matching = counts ? formatLeast(counts.total, counts) : null;
  const Asked = question?.kind === 'cancel' ? CancelDialog : AgainDialog;
  return (
    <>
      {isFree && (
        <BulkBar
          {...{ counts: chosen, isWhole, matching }}
          changeRefusal={changeRefusal.value}
          submitRefusal={submitRefusal.value}
          onSelectWhole={() => onSelection(selectWhole(shown))}
          onCancel={() => ask('cancel')}
          onSubmitAgain={() => ask('again')}
          onClear={() => onSelection(NO_SELECTION)}
        />
      )}
      {question && (
        <Asked
          counts={question.counts}
          target={question.target}
          filter={question.target.kind === 'filter' ? tokens : null}
          onClose={() => setQuestion(null)}
          onConfirm={(count) => void confirm(question, count)}
        />
      )}
    </>
  );
}
