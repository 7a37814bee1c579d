/**
 * Renders tables and lists of fields for people. Columns are as wide as their widest cell, or cut to the
 * terminal.
 */
import type { Paint } from './terminal.ts';
import { cleanText, measureWidth, padEnd, truncate } from './width.ts';

export type Column<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** Colours the text of a cell after it was cut; must not change its width. */
  readonly paint?: ((text: string, row: Row) => string) | undefined;
  /** Never cut, even if the table becomes wider than the terminal: a part of an id is useless. */
  readonly whole?: boolean | undefined;
};

export type TableOptions = {
  /** The width of the terminal in columns; absent: nothing is cut. */
  readonly widthMax?: number | undefined;
  readonly paintHead?: (text: string) => string;
};

const GAP = '  ';
/** No column is cut below this width. */
const WIDTH_MIN = 8;

/** Renders a line of titles and one line per row. */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { widthMax, paintHead }: TableOptions = {},
): string {
  const cells = rows.map((row) => columns.map(({ cell }) => cleanText(cell(row))));
  const titles = columns.map(({ title }) => title);
  const natural = titles.map((title, index) =>
    Math.max(measureWidth(title), ...cells.map((line) => measureWidth(line[index] ?? ''))),
  );
  const widths = widthMax === undefined ? natural : fitWidths(columns, natural, widthMax);
  const head = renderLine(titles, widths);
  const lines = cells.map((line, rowIndex) =>
    renderLine(line, widths, (text, index) => {
      const row = rows[rowIndex];
      const paint = columns[index]?.paint;
      return row !== undefined && paint ? paint(text, row) : text;
    }),
  );
  return [paintHead ? paintHead(head) : head, ...lines].map((line) => `${line}\n`).join('');
}

function renderLine(
  cells: readonly string[],
  widths: readonly number[],
  paint: (text: string, index: number) => string = (text) => text,
): string {
  const last = cells.length - 1;
  return cells
    .map((cell, index) => {
      const width = widths[index] ?? 0;
      const text = truncate(cell, width);
      const padding = index === last ? '' : padEnd('', width - measureWidth(text));
      return (text === '' ? '' : paint(text, index)) + padding;
    })
    .join(GAP)
    .trimEnd();
}

/**
 * Narrows the widest column by one, again and again, until the table fits or no column may be cut further.
 */
function fitWidths<Row>(
  columns: readonly Column<Row>[],
  natural: readonly number[],
  widthMax: number,
): readonly number[] {
  const widths = [...natural];
  const available = widthMax - GAP.length * (widths.length - 1);
  let excess = widths.reduce((sum, width) => sum + width, 0) - available;
  while (excess > 0) {
    const cuttable = widths.map((width, index) => (columns[index]?.whole ? 0 : width));
    const widest = Math.max(...cuttable);
    if (widest <= WIDTH_MIN) break;
    widths[cuttable.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
  return widths;
}

/** Renders one line per field: its name, then its value, all values in one column. */
export function renderFields(
  fields: readonly (readonly [name: string, value: string])[],
  paint: Paint,
): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${paint('dim', padEnd(name, width))}  ${value}\n`).join('');
}
