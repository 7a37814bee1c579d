/** Buttons side by side that switch filters on and off, each with the number of rows it would add. */
import type { VNode } from 'preact';
import { formatNumber } from './format.ts';
import { Icon, type IconName } from './icon.tsx';

type Segment<Value extends string> = {
  readonly value: Value;
  readonly label: string;
  readonly icon: IconName;
  /** A class for the icon while the button is on: `t-wait`. */
  readonly tone: string;
  /** Undefined until it is read. A text such as "over 100,000" if the exact number is unknown. */
  readonly count: number | string | undefined;
};

export type SegmentsProps<Value extends string> = {
  readonly label: string;
  readonly segments: readonly Segment<Value>[];
  /** The values that are on. */
  readonly selected: readonly Value[];
  readonly onToggle: (value: Value) => void;
};

export function Segments<Value extends string>({
  label,
  segments,
  selected,
  onToggle,
}: SegmentsProps<Value>): VNode {
  return (
    <fieldset class="seg" aria-label={label}>
      {segments.map((one) => {
        const isOn = selected.includes(one.value);
        return (
          <button key={one.value} type="button" aria-pressed={isOn} onClick={() => onToggle(one.value)}>
            <Icon name={one.icon} class={isOn ? one.tone : ''} />
            {one.label}{' '}
            <span class="n">{typeof one.count === 'number' ? formatNumber(one.count) : one.count}</span>
          </button>
        );
      })}
    </fieldset>
  );
}
