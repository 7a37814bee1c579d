/**
 * Renders tables and lists of fields for people. Columns are as wide as their widest cell, or cut to the
 * terminal; on a terminal no line wraps. A table is rendered in pieces, so that it may have any number of
 * rows: a piece takes memory only for its own rows.
 */
import { cleanText } from './safe-text.ts';
import type { Paint } from './terminal.ts';
import { measureWidth, padEnd, truncate } from './width.ts';

export type Column<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** Colours the text of a cell after it was cut, and must not change its width. */
  readonly paint?: ((text: string, row: Row) => string) | undefined;
  /** Whether a cell stays whole while it alone fits into the terminal, because a part of an id is useless. */
  readonly whole?: boolean | undefined;
};

export type TableOptions = {
  /** The width of the terminal in columns. Absent: nothing is cut. */
  readonly widthMax?: number | undefined;
  readonly paintHead?: (text: string) => string;
};

export type Table<Row> = {
  /** Renders a line for each row, and a line of titles before the first ones. */
  render(rows: readonly Row[]): string;
};

const GAP = '  ';
/** No column is cut below this width. */
const WIDTH_MIN = 8;
/** The widest that a column becomes if nothing is cut. A wider cell is written whole. */
const NATURAL_CHARS_MAX = 200;
/** How much of a cell is looked at: one character can have any number of marks. */
const CELL_CHARS_MAX = 4_000;

/** Renders a whole table: a line of titles and one line for each row. */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: TableOptions = {},
): string {
  return createTable(columns, options).render(rows);
}

/**
 * Creates a table. The first rows decide the widths of its columns; if nothing is cut, later rows may widen
 * them. If a terminal has no space for all columns, the last ones are left out.
 */
export function createTable<Row>(
  columns: readonly Column<Row>[],
  { widthMax, paintHead = (text) => text }: TableOptions = {},
): Table<Row> {
  let widths: readonly number[] | undefined;

  function chooseWidths(cells: readonly (readonly string[])[]): readonly number[] {
    const natural = measureColumns(columns, cells);
    if (widthMax !== undefined) return widths ?? fitWidths(columns, natural, widthMax);
    return natural.map((width, index) => Math.max(width, widths?.[index] ?? 0));
  }

  function renderLine(cells: readonly string[], shown: readonly number[], row?: Row): string {
    const parts = shown.map((width, index) => {
      const cell = cells[index] ?? '';
      const text = widthMax === undefined ? cell : truncate(cell, width);
      const needsPadding = index < shown.length - 1 && text.length <= NATURAL_CHARS_MAX;
      const padding = needsPadding ? padEnd('', width - measureWidth(text)) : '';
      const paint = row === undefined ? undefined : columns[index]?.paint;
      return (text !== '' && paint && row !== undefined ? paint(text, row) : text) + padding;
    });
    return `${parts.join(GAP).trimEnd()}\n`;
  }

  return {
    render(rows) {
      const cells = rows.map((row) => columns.map(({ cell }) => readCell(cell(row), widthMax)));
      const isFirst = widths === undefined;
      const shown = chooseWidths(cells);
      widths = shown;
      const titles = columns.map(({ title }) => title);
      const head = isFirst ? `${paintHead(renderLine(titles, shown).trimEnd())}\n` : '';
      return head + cells.map((line, index) => renderLine(line, shown, rows[index])).join('');
    },
  };
}

function readCell(text: string, widthMax: number | undefined): string {
  return cleanText(widthMax === undefined ? text : text.slice(0, CELL_CHARS_MAX));
}

function measureColumns<Row>(
  columns: readonly Column<Row>[],
  cells: readonly (readonly string[])[],
): readonly number[] {
  return columns.map(({ title }, index) =>
    cells.reduce(
      (width, line) => Math.max(width, measureWidth((line[index] ?? '').slice(0, NATURAL_CHARS_MAX))),
      measureWidth(title),
    ),
  );
}

/**
 * Returns the widths of the columns that fit into the terminal, at least one: leaves out the last ones, then
 * narrows the widest by one, again and again.
 */
function fitWidths<Row>(
  columns: readonly Column<Row>[],
  natural: readonly number[],
  widthMax: number,
): readonly number[] {
  const least = natural.map((width, index) => (columns[index]?.whole ? width : Math.min(width, WIDTH_MIN)));
  let count = columns.length;
  while (count > 1 && sumWidths(least.slice(0, count)) > widthMax) count -= 1;
  if (count === 1) return [Math.max(1, Math.min(natural[0] ?? 0, widthMax))];
  const widths = natural.slice(0, count);
  for (let excess = sumWidths(widths) - widthMax; excess > 0; excess -= 1) {
    const cuttable = widths.map((width, index) => (width > (least[index] ?? 0) ? width : 0));
    const widest = cuttable.indexOf(Math.max(...cuttable));
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** Returns the width of a line with these columns. */
function sumWidths(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
}

/** Renders one line for each field: its name, then its value, with all values in one column. */
export function renderFields(
  fields: readonly (readonly [name: string, value: string])[],
  paint: Paint,
): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  const align = (value: string): string =>
    cleanText(value.trimEnd(), true).replaceAll('\n', `\n${' '.repeat(width + 2)}`);
  return fields.map(([name, value]) => `${paint('dim', padEnd(name, width))}  ${align(value)}\n`).join('');
}
