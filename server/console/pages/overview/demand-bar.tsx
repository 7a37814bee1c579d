/**
 * A bar of demand beside supply: used, unusable and free slots, a stroke at the capacity, and behind it the
 * waiting tasks.
 */
import type { VNode } from 'preact';
import { formatNumber } from '../../parts/format.ts';
import { type Demand, measureDemand } from './demand-scale.ts';

export type DemandBarProps = {
  readonly demand: Demand;
  /** The count that fills the whole width, the same for all rows (`chooseDemandScale()`). */
  readonly scale: number;
  /** Whether no agent is eligible, so that waiting tasks are red. */
  readonly isBad: boolean;
};

export function DemandBar({ demand, scale, isBad }: DemandBarProps): VNode {
  const { used, free, unusable, waiting } = demand;
  const parts = measureDemand(demand, scale);
  const capacity = parts.used + parts.unusable + parts.free;
  const tone = isBad ? 'bad' : 'wait';
  const label = [
    `${formatNumber(used)} used, ${formatNumber(free)} free`,
    ...(unusable > 0 ? [`${formatNumber(unusable)} not usable, for pushes fail`] : []),
    `${formatNumber(waiting)} waiting`,
  ].join(', ');
  return (
    <svg class="demand" role="img" aria-label={label}>
      {capacity > 0 && <rect class="free" x="0.5" y="1.5" width={percent(capacity)} height="13" rx="2" />}
      {used > 0 && <rect class="busy" x="0" y="1" width={percent(parts.used)} height="14" rx="2" />}
      {unusable > 0 && (
        <rect
          class="o-bad"
          fill="url(#h-fail)"
          x={percent(parts.used)}
          y="1.5"
          width={percent(parts.unusable)}
          height="13"
        />
      )}
      {waiting > 0 && (
        <rect
          class={`o-${tone}`}
          fill={`url(#h-${tone})`}
          x={percent(capacity)}
          y="1.5"
          width={percent(parts.waiting)}
          height="13"
          rx="2"
        />
      )}
      <svg x={percent(capacity)} overflow="visible">
        <path class="cap" d="M.5-2v20" />
      </svg>
      {parts.isCut && <Cut at={capacity + parts.waiting} total={waiting + used + free + unusable} />}
    </svg>
  );
}

/** Draws the zigzag of a row that is cut, and its true number. */
function Cut({ at, total }: { readonly at: number; readonly total: number }): VNode {
  return (
    <svg x={percent(at)} overflow="visible">
      <path class="cut-edge" d="M-6-1l4 4.5-4 4.5 4 4.5-4 4.5h9v-18z" />
      <path class="cut-line" d="M-6-1l4 4.5-4 4.5 4 4.5-4 4.5" />
      <text x="4" y="12">
        {formatNumber(total)}
      </text>
    </svg>
  );
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}

const LEGEND = [
  ['busy', undefined, 'used'],
  ['free', undefined, 'free'],
  ['o-wait', 'wait', 'waiting'],
  ['o-bad', 'bad', 'waiting, no agent'],
  ['o-bad', 'fail', 'pushes fail'],
] as const;

export function DemandLegend(): VNode {
  return (
    <span class="legend">
      {LEGEND.map(([look, pattern, text]) => (
        <span key={text}>
          <svg aria-hidden="true">
            <rect
              class={look}
              x="0.5"
              y="0.5"
              width="13"
              height="9"
              rx="2"
              {...(pattern && { fill: `url(#h-${pattern})` })}
            />
          </svg>
          {text}
        </span>
      ))}
    </span>
  );
}
