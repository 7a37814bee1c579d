/** The rows of a page for the keyboard: which one has the focus, and the one before and behind it. */

const ROW = '[data-row]';

/** The row that has the focus, or that holds what has it. */
function findFocusedRow(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>(ROW) ?? null;
}

/** The id of the row that has the focus; null if none has. */
export function readFocusedId(): string | null {
  return findFocusedRow()?.dataset.row ?? null;
}

/** Gives the focus to the row `step` behind the one that has it; to the first row if none has. */
export function moveFocus(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(ROW)];
  const focused = findFocusedRow();
  const next = focused ? rows[rows.indexOf(focused) + step] : rows[0];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

/** Opens the row that has the focus: follows its first link. */
export function openRow(): void {
  findFocusedRow()?.querySelector<HTMLAnchorElement>('a[href]')?.click();
}
