/** A name with its value, in the list below the head of a page. */
import type { ComponentChildren, VNode } from 'preact';

export type EntryProps = {
  readonly name: string;
  /** Shown while the pointer is on the value. */
  readonly title?: string;
  readonly children: ComponentChildren;
};

/** Draws the entry, for a `<dl class="about">`. */
export function Entry({ name, title, children }: EntryProps): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd title={title}>{children}</dd>
    </div>
  );
}
