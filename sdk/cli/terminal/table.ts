/** Tables for people: columns as wide as their widest cell, cut where the terminal ends. */
import { cleanText, measureWidth, padEnd, truncate } from './width.ts';

export type Column<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** How a cell looks once it has its width; the text itself stays. */
  readonly paint?: ((text: string, row: Row) => string) | undefined;
  /** Never cut: half an id is none. */
  readonly whole?: boolean | undefined;
};

const GAP = '  ';
/** A column is not cut below this many columns of the terminal. */
const WIDTH_MIN = 8;

/** Renders rows under a head, a line each. `widthMax` is the terminal's; absent: nothing is cut. */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { widthMax, paintHead }: { widthMax?: number | undefined; paintHead?: (text: string) => string } = {},
): string {
  const cells = rows.map((row) => columns.map(({ cell }) => cleanText(cell(row))));
  const titles = columns.map(({ title }) => title);
  const natural = titles.map((title, index) =>
    Math.max(measureWidth(title), ...cells.map((line) => measureWidth(line[index] ?? ''))),
  );
  const widths = widthMax === undefined ? natural : fitWidths(columns, natural, widthMax);
  const head = layOut(titles, widths);
  const lines = cells.map((line, at) =>
    layOut(line, widths, (text, index) => {
      const row = rows[at];
      const paint = columns[index]?.paint;
      return row !== undefined && paint ? paint(text, row) : text;
    }),
  );
  return [paintHead ? paintHead(head) : head, ...lines].map((line) => `${line}\n`).join('');
}

function layOut(
  cells: readonly string[],
  widths: readonly number[],
  paint: (text: string, index: number) => string = (text) => text,
): string {
  const last = cells.length - 1;
  return cells
    .map((cell, index) => {
      const width = widths[index] ?? 0;
      const text = truncate(cell, width);
      const space = index === last ? '' : padEnd('', width - measureWidth(text));
      return (text === '' ? '' : paint(text, index)) + space;
    })
    .join(GAP)
    .trimEnd();
}

/** Takes from the widest column that may be cut, a bit at a time, until all fit or none may give more. */
function fitWidths<Row>(
  columns: readonly Column<Row>[],
  natural: readonly number[],
  widthMax: number,
): readonly number[] {
  const widths = [...natural];
  const room = widthMax - GAP.length * (widths.length - 1);
  let over = widths.reduce((sum, width) => sum + width, 0) - room;
  while (over > 0) {
    const givers = widths.map((width, index) => (columns[index]?.whole ? 0 : width));
    const widest = Math.max(...givers);
    if (widest <= WIDTH_MIN) break;
    widths[givers.indexOf(widest)] = widest - 1;
    over -= 1;
  }
  return widths;
}
