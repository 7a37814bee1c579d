/** Under the top bar: what makes the whole page unusable or not current. A screen reader reads it at once. */
import type { ComponentChildren, VNode } from 'preact';
import { Icon } from './icon.tsx';

export type BannerProps = {
  readonly tone: 'bad' | 'wait';
  /** The sentence: what is wrong, since when. */
  readonly children: ComponentChildren;
  /** Further advice to a person, below it. */
  readonly more?: ComponentChildren;
  /** At its right end, such as a button. */
  readonly right?: ComponentChildren;
};

/** A banner. Mark a text that changes each second `aria-hidden`, so that the banner is read once. */
export function Banner({ tone, children, more, right }: BannerProps): VNode {
  return (
    <div class={`banner ${tone}`} role="alert">
      <Icon name={tone === 'bad' ? 'alert' : 'warn'} />
      <div>
        {children}
        {more !== undefined && <p>{more}</p>}
      </div>
      <span class="grow" />
      {right}
    </div>
  );
}
