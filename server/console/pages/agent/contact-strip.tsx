/**
 * The contacts of an agent in the last minutes. A stroke is tall if there was contact, flat if there was
 * none, and red if a push was not taken.
 */
import type { VNode } from 'preact';
import type { AgentActivity } from '../../gateway/shapes.ts';

export type ContactStripProps = {
  readonly activity: AgentActivity;
  /** 40 px high instead of 16, for the page of an agent. */
  readonly isTall?: boolean;
};

/** Draws a stroke for each step, the oldest at the left. */
export function ContactStrip({ activity, isTall = false }: ContactStripProps): VNode {
  const { step, contact, push_failed } = activity;
  const count = contact.length;
  const height = isTall ? 40 : 16;
  const width = 100 / Math.max(count, 1);
  const silent = [...contact].filter((one) => one !== '1').length;
  const failed = [...push_failed].filter((one) => one === '1').length;
  const label = `The last ${Math.round((step * count) / 60)} minutes in ${count} steps: silent in ${silent}, pushes not taken in ${failed}.`;
  return (
    <svg class={isTall ? 'contacts tall' : 'contacts'} role="img" aria-label={label}>
      {Array.from({ length: count }, (_, index) => {
        const isFailed = push_failed[index] === '1';
        const isContact = contact[index] === '1';
        const share = isFailed ? 0.8 : isContact ? 0.55 : 0;
        const tall = Math.max(height * share, 2);
        return (
          <rect
            key={index}
            class={isFailed ? 'x' : isContact ? 'c' : 's'}
            x={`${(index * width).toFixed(2)}%`}
            y={height - tall}
            width={`${(width * 0.62).toFixed(2)}%`}
            height={tall}
          />
        );
      })}
    </svg>
  );
}

export function ContactLegend(): VNode {
  return (
    <span class="legend">
      <LegendEntry look="c" y={0} text="contact" />
      <LegendEntry look="s" y={8} text="silence" />
      <LegendEntry look="x" y={0} text="push not taken" />
    </span>
  );
}

function LegendEntry(props: { readonly look: string; readonly y: number; readonly text: string }): VNode {
  return (
    <span>
      <svg class="contacts-legend" viewBox="0 0 10 10" aria-hidden="true">
        <rect class={props.look} y={props.y} width={props.y > 0 ? 10 : 4} height={10 - props.y} />
      </svg>
      {props.text}
    </span>
  );
}
