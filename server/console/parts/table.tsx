/**
 * Tables. The roles are in the markup, because rows become entries of two or three lines on a narrow page,
 * and a table stays one to a screen reader.
 */
import type { ComponentChildren, VNode } from 'preact';

export type Column = {
  /** In the head; a text, or a control with a name of its own. */
  readonly head: ComponentChildren;
  /** In pixels; one column without a width takes what is left. */
  readonly width?: number;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
};

export type TableProps = {
  readonly columns: readonly Column[];
  /** Whether rows become entries on a narrow page. Default: true. */
  readonly isStackable?: boolean;
  /** Its name, for a screen reader. */
  readonly label?: string;
  readonly class?: string;
  /** `Row`s with `Cell`s, each with a key. */
  readonly children: ComponentChildren;
};

/** A table. */
export function Table({ columns, isStackable = true, label, class: more = '', children }: TableProps): VNode {
  return (
    <table
      role="table"
      class={`${isStackable ? 'stackable' : ''} ${more}`.trim()}
      {...(label !== undefined && { 'aria-label': label })}
    >
      <colgroup>
        {columns.map(({ width }, index) => (
          <col key={index} {...(width !== undefined && { width })} />
        ))}
      </colgroup>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ head, isNumber }, index) => (
            <th key={index} role="columnheader" scope="col" class={isNumber ? 'num' : ''}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{children}</tbody>
    </table>
  );
}

export type CellProps = {
  /** `num` right, `full` a line of its own and `hide` not at all on a narrow page, and others. */
  readonly class?: string;
  /** Stands before it on a narrow page, which has no heads. */
  readonly label?: string;
  readonly children?: ComponentChildren;
};

/** A cell. */
export function Cell({ class: more = '', label, children }: CellProps): VNode {
  return (
    <td role="cell" class={more} {...(label !== undefined && { 'data-l': label })}>
      {children}
    </td>
  );
}

export type RowProps = {
  /** Where a click anywhere in the row goes, as its link does. */
  readonly href?: string;
  /** The id of the row's task or agent. With it the keys `j` and `k` give the row the focus. */
  readonly rowId?: string;
  /** `row-bad`, `row-wait`, `sel`, `dim`. */
  readonly class?: string;
  readonly children: ComponentChildren;
};

/** A row. A click anywhere in it follows its first link; controls in it do what they do. */
export function Row({ href, rowId, class: more = '', children }: RowProps): VNode {
  return (
    <tr
      role="row"
      class={href === undefined ? more : `go ${more}`}
      {...(rowId !== undefined && { 'data-row': rowId, tabIndex: -1 })}
      {...(href !== undefined && { onClick: followRow })}
    >
      {children}
    </tr>
  );
}

/** Follows the link of a row that was clicked, unless the click was for something in it or selected text. */
function followRow(event: MouseEvent): void {
  const { target, currentTarget } = event;
  if (!(target instanceof Element) || !(currentTarget instanceof HTMLTableRowElement)) return;
  if (target.closest('a, button, input, label, summary')) return;
  if (String(getSelection()) !== '') return;
  const link = currentTarget.querySelector<HTMLAnchorElement>('a[href]');
  const { ctrlKey, metaKey, shiftKey } = event;
  link?.dispatchEvent(
    new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }),
  );
}
