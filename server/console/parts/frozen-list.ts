/**
 * Rows that stay in place while data changes. Cells change in their row. New rows wait until a person shows
 * them. Until then rows that left the filter stay, dimmed.
 */
import { useRef, useState } from 'preact/hooks';

/** A row that is shown. `isMissing` if the last read no longer had it. */
export type ShownRow<Row> = { readonly id: string; readonly row: Row; readonly isMissing: boolean };
export type FrozenList<Row> = {
  readonly shown: readonly ShownRow<Row>[];
  /** How many rows wait to be shown. */
  readonly newCount: number;
  /** Whether at least one shown row has left the filter. */
  readonly hasMissing: boolean;
};

/** Shows the first `size` rows of a read, in their order. Pure. */
export function showRows<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  size: number,
): FrozenList<Row> {
  const shown = rows.slice(0, size).map((row) => ({ id: idOf(row), row, isMissing: false }));
  return { shown, newCount: 0, hasMissing: false };
}

/**
 * Applies another read to the list and keeps its order. `rows` begin where the first read began, and should
 * be more than `size`. `isComplete` says that no row follows them. A shown row that was not read has left the
 * filter if the read is complete, or if a later shown row was read; else the row may be beyond the read.
 * Pure.
 */
export function updateRows<Row>(
  list: FrozenList<Row>,
  rows: readonly Row[],
  idOf: (row: Row) => string,
  { size, isComplete }: { readonly size: number; readonly isComplete: boolean },
): FrozenList<Row> {
  const read = new Map(rows.map((row) => [idOf(row), row]));
  const lastRead = list.shown.findLastIndex(({ id }) => read.has(id));
  const shown = list.shown.map(({ id, row, isMissing }, index) => {
    const present = read.get(id);
    if (present !== undefined) return { id, row: present, isMissing: false };
    return { id, row, isMissing: isMissing || isComplete || index < lastRead };
  });
  const ids = new Set(list.shown.map(({ id }) => id));
  const lastId = list.shown[lastRead]?.id;
  const lastAt = lastId === undefined ? -1 : rows.findIndex((row) => idOf(row) === lastId);
  // If the page is full, rows behind the last shown one are not new: they belong to the next page.
  const isFull = list.shown.length >= size && lastAt >= 0;
  const added = rows.filter((row, index) => !ids.has(idOf(row)) && (!isFull || index < lastAt));
  return { shown, newCount: added.length, hasMissing: shown.some(({ isMissing }) => isMissing) };
}

/** The rows of a page, and whether no row follows them. */
type PageRows<Row> = { readonly rows: readonly Row[]; readonly isComplete: boolean };

/**
 * Keeps the rows of a listing that is read again and again. `key` names the filter. Undefined before the
 * first read of a filter.
 */
export function useFrozenList<Row, Page>(
  key: string,
  page: Page | undefined,
  read: {
    readonly rowsOf: (page: Page) => PageRows<Row>;
    readonly idOf: (row: Row) => string;
    readonly size: number;
  },
): { readonly list: FrozenList<Row> | undefined; readonly showNew: () => void } {
  const { rowsOf, idOf, size } = read;
  const frozen = useRef<{ key: string; page: Page; list: FrozenList<Row> } | null>(null);
  const [, redraw] = useState(0);
  if (page !== undefined && (frozen.current?.page !== page || frozen.current.key !== key)) {
    const { rows, isComplete } = rowsOf(page);
    const list =
      frozen.current?.key === key
        ? updateRows(frozen.current.list, rows, idOf, { size, isComplete })
        : showRows(rows, idOf, size);
    frozen.current = { key, page, list };
  }
  const showNew = (): void => {
    if (page === undefined) return;
    frozen.current = { key, page, list: showRows(rowsOf(page).rows, idOf, size) };
    redraw((count) => count + 1);
  };
  return { list: frozen.current?.key === key ? frozen.current.list : undefined, showNew };
}
