/** The questions before many tasks are cancelled or submitted again. The harmless button has the focus. */
import type { VNode } from 'preact';
import { CodedText } from '../../parts/coded-text.tsx';
import { describeError } from '../../parts/describe-error.ts';
import { formatCount, formatNumber } from '../../parts/format.ts';
import type { Token } from '../../routing/filter.ts';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { type ChosenCounts, countOpen, describeCancel, TYPED_FROM } from './bulk.ts';
import type { BulkTarget } from './bulk-calls.ts';
import { useDryRun } from './use-dry-run.ts';

export type BulkDialogProps = {
  readonly counts: ChosenCounts;
  /** The filter of the tasks; null if they were selected one by one. */
  readonly filter: readonly Token[] | null;
  readonly target: BulkTarget;
  readonly onClose: () => void;
  /** Called with the approximate number of tasks. */
  readonly onConfirm: (count: number) => void;
};

/** Draws the filter as it is written. */
function FilterBox({ filter }: { readonly filter: readonly Token[] | null }): VNode | null {
  if (filter === null) return null;
  const text =
    filter.length === 0
      ? 'no filter: all tasks'
      : filter.map(({ key, value }) => `${key}=${value}`).join(' ');
  return <div class="box">{text}</div>;
}

/**
 * Asks before tasks are cancelled. For a filter, a dry run counts the tasks first. From 1,000 tasks on, a
 * person must type the number.
 */
export function CancelDialog({ counts, filter, target, onClose, onConfirm }: BulkDialogProps): VNode {
  const dryRun = useDryRun(target);
  const isCounted = dryRun === null || dryRun.kind === 'counted';
  const open = isCounted ? (dryRun?.open ?? countOpen(counts)) : Math.max(countOpen(counts), dryRun.open);
  const least = isCounted || counts.complete ? '' : 'at least ';
  return (
    <ConfirmDialog
      title={`Cancel ${least}${formatCount(open, 'open task')}?`}
      keep={open === 1 ? 'Keep it' : 'Keep them'}
      confirm={isCounted ? `Cancel ${formatCount(open, 'task')}` : 'Counting…'}
      isDanger
      refusal={isCounted ? (open === 0 ? 'None of them is open any more.' : null) : 'They are counted first.'}
      typed={open >= TYPED_FROM ? open : null}
      onConfirm={() => onConfirm(open)}
      onClose={onClose}
    >
      <FilterBox filter={filter} />
      <p>
        <CodedText text={describeCancel(counts, filter !== null, open)} />
      </p>
      {dryRun?.kind === 'failed' && (
        <p class="t-bad">Could not count them: {describeError(dryRun.error)}. Close this and try again.</p>
      )}
      <p class="muted">
        Agents learn of it with their next heartbeat and may still be working until then. A cancelled task
        cannot be resumed, only submitted again.
      </p>
    </ConfirmDialog>
  );
}

/** Asks before tasks are submitted again. */
export function AgainDialog({ counts, filter, onClose, onConfirm }: BulkDialogProps): VNode {
  const { ended, complete } = counts;
  const open = countOpen(counts);
  const least = complete ? '' : 'at least ';
  return (
    <ConfirmDialog
      title={`Submit ${least}${formatCount(ended, 'task')} again?`}
      keep="Submit none"
      confirm={complete ? `Submit ${formatCount(ended, 'task')}` : 'Submit all of them'}
      typed={ended >= TYPED_FROM ? ended : null}
      onConfirm={() => onConfirm(ended)}
      onClose={onClose}
    >
      <FilterBox filter={filter} />
      <p>
        {`Each of the ${formatCount(ended, 'task')} that ${ended === 1 ? 'has' : 'have'} ended is submitted as it was:`}{' '}
        the same type, tags, payload, session and times. The new tasks have new ids.
      </p>
      {open > 0 && (
        <p class="muted">
          {formatNumber(open)} {open === 1 ? 'is' : 'are'} open and {open === 1 ? 'is' : 'are'} left alone.
        </p>
      )}
    </ConfirmDialog>
  );
}
