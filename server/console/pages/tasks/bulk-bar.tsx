/** The bar for the selected tasks. It floats, so that nothing moves. */
import type { VNode } from 'preact';
import { formatLeast } from '../../parts/format.ts';
import { Icon } from '../../parts/icon.tsx';
import { type ChosenCounts, countOpen } from './bulk.ts';

export type BulkBarProps = {
  readonly counts: ChosenCounts;
  /** Whether all matching tasks are selected. */
  readonly isWhole: boolean;
  /** How many tasks match: `60`, `1,000+`; null until they are counted. */
  readonly matching: string | null;
  readonly changeRefusal: string | null;
  readonly submitRefusal: string | null;
  readonly onSelectWhole: () => void;
  readonly onCancel: () => void;
  readonly onSubmitAgain: () => void;
  readonly onClear: () => void;
};

export function BulkBar(props: BulkBarProps): VNode {
  const { counts, isWhole, matching, onSelectWhole, onClear } = props;
  return (
    <section class="bulk" aria-label="Selected tasks">
      <b>
        {isWhole ? 'All ' : ''}
        {formatLeast(counts.total, counts)} selected
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
        Cancel {formatLeast(open, counts)} open…
      </button>
      <button
        class="btn small act"
        type="button"
        aria-disabled={noSubmit !== null}
        title={noSubmit ?? ''}
        onClick={() => noSubmit === null && onSubmitAgain()}
      >
        <Icon name="again" />
        Submit {formatLeast(counts.ended, counts)} again…
      </button>
    </>
  );
}
