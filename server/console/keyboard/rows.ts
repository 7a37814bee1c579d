/** The rows of a page for the keyboard: finds the focused row and moves the focus. */

const ROW = '[data-row]';

/** The row that has the focus, or contains it. */
function findFocusedRow(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>(ROW) ?? null;
}

/** The id of the focused row; null if no row has the focus. */
export function readFocusedId(): string | null {
  return findFocusedRow()?.dataset.row ?? null;
}

/** Moves the focus by `step` rows, or to the first row if no row has it. */
export function moveFocus(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(ROW)];
  const focused = findFocusedRow();
  const next = focused ? rows[rows.indexOf(focused) + step] : rows[0];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

/** Opens the focused row: follows its first link. */
export function openRow(): void {
  findFocusedRow()?.querySelector<HTMLAnchorElement>('a[href]')?.click();
}
