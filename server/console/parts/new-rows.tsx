/** The button that shows the rows that wait: its space is kept while there are none. */
import type { VNode } from 'preact';
import { formatNumber } from './format.ts';

export type NewRowsProps = {
  /** How many rows wait. */
  readonly count: number;
  /** Whether rows are shown that have left the filter. */
  readonly hasMissing?: boolean;
  readonly onShow: () => void;
};

/** `6 new, show them`; where rows have only left, `Show the present rows`. */
export function NewRows({ count, hasMissing = false, onShow }: NewRowsProps): VNode {
  const text =
    count > 0 ? `${formatNumber(count)} new, show ${count === 1 ? 'it' : 'them'}` : 'Show the present rows';
  return (
    <button
      class={count > 0 || hasMissing ? 'btn small newrows on' : 'btn small newrows'}
      type="button"
      onClick={onShow}
    >
      {text}
    </button>
  );
}
