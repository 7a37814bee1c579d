/**
 * Tables. On a narrow page, rows become entries of two or three lines. The roles are in the markup, so that a
 * screen reader still finds a table.
 */
import type { ComponentChildren, VNode } from 'preact';

export type Column = {
  /** The head of the column: a text, or a control with a name of its own. */
  readonly head: ComponentChildren;
  /** In pixels. One column without a width takes what is left. */
  readonly width?: number;
  /** Numbers are aligned to the right. */
  readonly isNumber?: boolean;
};

export type TableProps = {
  readonly columns: readonly Column[];
  /** Whether rows become entries on a narrow page. Default: true. */
  readonly isStackable?: boolean;
  /** The table's name, for a screen reader. */
  readonly label?: string;
  readonly class?: string;
  /** `Row`s with `Cell`s, each with a key. */
  readonly children: ComponentChildren;
};

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
  /**
   * `num` aligns to the right. On a narrow page, `full` gives the cell a line of its own, and `hide` hides
   * it.
   */
  readonly class?: string;
  /** Stands before the cell on a narrow page, which shows no heads. */
  readonly label?: string;
  readonly children?: ComponentChildren;
};

export function Cell({ class: more = '', label, children }: CellProps): VNode {
  return (
    <td role="cell" class={more} {...(label !== undefined && { 'data-l': label })}>
      {children}
    </td>
  );
}

export type RowProps = {
  /** The address of the row's link, which a click anywhere in the row follows. */
  readonly href?: string;
  /** The id of the row's task or agent. With it the keys `j` and `k` can focus the row. */
  readonly rowId?: string;
  /** `row-bad`, `row-wait`, `sel`, `dim`. */
  readonly class?: string;
  readonly children: ComponentChildren;
};

/** Draws a row. A click in it follows its first link, unless the click is on a control. */
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
