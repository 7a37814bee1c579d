/** Which rows are selected: one by one, a range, all on the page, or all that match the filter. Pure. */

export type RowSelection = {
  readonly ids: ReadonlySet<string>;
  /** The row that was toggled last, where a range begins. */
  readonly anchor: string | null;
  /** Whether all matching tasks are selected, even those of other pages. */
  readonly isWhole: boolean;
};

export const NO_SELECTION: RowSelection = { ids: new Set(), anchor: null, isWhole: false };

export function toggleRow({ ids }: RowSelection, id: string): RowSelection {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return { ids: next, anchor: id, isWhole: false };
}

/** Selects all rows from the last toggled one to this one, in the order shown. */
export function selectRange(selection: RowSelection, id: string, shown: readonly string[]): RowSelection {
  const from = selection.anchor === null ? -1 : shown.indexOf(selection.anchor);
  const to = shown.indexOf(id);
  if (from < 0 || to < 0) return toggleRow(selection, id);
  const range = shown.slice(Math.min(from, to), Math.max(from, to) + 1);
  return { ids: new Set([...selection.ids, ...range]), anchor: id, isWhole: false };
}

/** Selects all rows of the page, or none if all of them are selected. */
export function togglePage({ ids }: RowSelection, shown: readonly string[]): RowSelection {
  const areAll = shown.length > 0 && shown.every((id) => ids.has(id));
  return areAll ? NO_SELECTION : { ids: new Set(shown), anchor: null, isWhole: false };
}

/** Selects all matching tasks, even those of other pages. */
export function selectWhole(shown: readonly string[]): RowSelection {
  return { ids: new Set(shown), anchor: null, isWhole: true };
}
