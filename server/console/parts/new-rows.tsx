/** The button that shows waiting rows. Its space is kept while there are none. */
import type { VNode } from 'preact';
import { formatNumber } from './format.ts';

export type NewRowsProps = {
  /** How many rows wait. */
  readonly count: number;
  /** Whether shown rows have left the filter. */
  readonly hasMissing?: boolean;
  readonly onShow: () => void;
};

/** Draws `6 new, show them`, or `Show the present rows` if rows have only left. */
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
