/** A panel: a heading, what stands beside it, the content and a footer. */
import type { ComponentChildren, VNode } from 'preact';

export type PanelProps = {
  readonly title: string;
  /** Stands beside the title, small. */
  readonly note?: ComponentChildren;
  /** Stands at the right end of the head. */
  readonly right?: ComponentChildren;
  readonly footer?: ComponentChildren;
  readonly id?: string;
  /** A table, which needs no padding; anything else goes into `<div class="in">`. */
  readonly children: ComponentChildren;
};

export function Panel({ title, note, right, footer, id, children }: PanelProps): VNode {
  return (
    <section class="panel" {...(id !== undefined && { id })}>
      <header>
        <h2>{title}</h2>
        {note !== undefined && <span class="note">{note}</span>}
        <span class="grow" />
        {right}
      </header>
      {children}
      {footer !== undefined && <footer>{footer}</footer>}
    </section>
  );
}
