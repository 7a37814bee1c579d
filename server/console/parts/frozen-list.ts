/**
 * Rows that stay where they are while data changes: cells change in the row, new rows wait until a person
 * shows them, rows that left the filter stay, dimmed, until then.
 */
import { useRef, useState } from 'preact/hooks';

/** A row that is shown; `isMissing` where the last read no longer had it. */
export type ShownRow<Row> = { readonly id: string; readonly row: Row; readonly isMissing: boolean };
export type FrozenList<Row> = {
  readonly shown: readonly ShownRow<Row>[];
  /** How many rows wait to be shown. */
  readonly newCount: number;
  /** Whether at least one shown row left the filter. */
  readonly hasMissing: boolean;
};

/** Shows the first `size` of the rows that were read, as they are. Pure. */
export function showRows<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  size: number,
): FrozenList<Row> {
  const shown = rows.slice(0, size).map((row) => ({ id: idOf(row), row, isMissing: false }));
  return { shown, newCount: 0, hasMissing: false };
}

/**
 * The list behind a further read, in its frozen order. `rows` begin where the first read began, in the order
 * of the listing, and should be more than `size`. `isComplete` says that no row follows behind them: only
 * then, or before the last shown row that was read, is a row that was not read missing from the filter
 * rather than beyond the read. Pure.
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
  // Behind the last shown row of a full page there are older rows: they belong to the next page.
  const isFull = list.shown.length >= size && lastAt >= 0;
  const added = rows.filter((row, index) => !ids.has(idOf(row)) && (!isFull || index < lastAt));
  return { shown, newCount: added.length, hasMissing: shown.some(({ isMissing }) => isMissing) };
}

/** The rows of a page, and whether none follows behind them. */
type PageRows<Row> = { readonly rows: readonly Row[]; readonly isComplete: boolean };

/**
 * The rows of a listing that is read again and again; undefined before the first read of its filter, which
 * `key` names.
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
