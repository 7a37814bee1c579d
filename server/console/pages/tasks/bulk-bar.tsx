/**
 * The bar for what is selected: it floats, so nothing moves. While an action runs it shows the progress and
 * a stop.
 */
import type { VNode } from 'preact';
import { formatNumber } from '../../parts/format.ts';
import { Icon } from '../../parts/icon.tsx';
import { type ChosenCounts, countOpen } from './bulk.ts';

/** An action under way. */
export type BulkProgress = { readonly text: string; readonly stop: () => void };

export type BulkBarProps = {
  readonly counts: ChosenCounts;
  /** Whether all that match are selected. */
  readonly isWhole: boolean;
  /** How many match, in words: `60`, `at least 1,000`; null until they are counted. */
  readonly matching: string | null;
  readonly changeRefusal: string | null;
  readonly submitRefusal: string | null;
  readonly progress: BulkProgress | null;
  readonly onSelectWhole: () => void;
  readonly onCancel: () => void;
  readonly onSubmitAgain: () => void;
  readonly onClear: () => void;
};

/** The bar. */
export function BulkBar(props: BulkBarProps): VNode {
  const { counts, isWhole, matching, progress, onSelectWhole, onClear } = props;
  if (progress) {
    return (
      <section class="bulk" aria-label="Action under way">
        <b>{progress.text}</b>
        <button class="btn small" type="button" onClick={progress.stop}>
          Stop
        </button>
      </section>
    );
  }
  const least = counts.complete ? '' : 'at least ';
  return (
    <section class="bulk" aria-label="Selected tasks">
      <b>
        {isWhole ? `All ${least}` : ''}
        {formatNumber(counts.total)} selected
      </b>
      {!isWhole && matching !== null && (
        <button class="btn small" type="button" onClick={onSelectWhole}>
          <span>
            Select all {matching}
            <span class="only-wide"> that match</span>
          </span>
        </button>
      )}
      <span class="sep" />
      <BulkActions {...props} />
      <button class="btn small quiet" type="button" onClick={onClear}>
        Clear
      </button>
    </section>
  );
}

function BulkActions({ counts, changeRefusal, submitRefusal, onCancel, onSubmitAgain }: BulkBarProps): VNode {
  const open = countOpen(counts);
  const noCancel = changeRefusal ?? (open === 0 ? 'None of them is open.' : null);
  const noSubmit = submitRefusal ?? (counts.ended === 0 ? 'None of them has ended.' : null);
  return (
    <>
      <button
        class="btn small danger act"
        type="button"
        aria-disabled={noCancel !== null}
        title={noCancel ?? ''}
        onClick={() => noCancel === null && onCancel()}
      >
        Cancel {formatNumber(open)} open…
      </button>
      <button
        class="btn small act"
        type="button"
        aria-disabled={noSubmit !== null}
        title={noSubmit ?? ''}
        onClick={() => noSubmit === null && onSubmitAgain()}
      >
        <Icon name="again" />
        Submit {formatNumber(counts.ended)} again…
      </button>
    </>
  );
}
