/** Rows that stay where they are: new ones wait, cells change, rows that left the filter stay. */
import { describe, expect, test } from 'vitest';
import { type FrozenList, showRows, updateRows } from '../../server/console/parts/frozen-list.ts';

type Row = { readonly id: string; readonly value?: number };
const idOf = ({ id }: Row): string => id;
const rowsOf = (ids: string): readonly Row[] => [...ids].map((id) => ({ id }));
const SIZE = 4;

function update(list: FrozenList<Row>, ids: string, isComplete = true): FrozenList<Row> {
  return updateRows(list, rowsOf(ids), idOf, { size: SIZE, isComplete });
}

/** The shown ids; those that are missing in brackets. */
function write({ shown }: FrozenList<Row>): string {
  return shown.map(({ id, isMissing }) => (isMissing ? `(${id})` : id)).join('');
}

const full = showRows(rowsOf('dcba9'), idOf, SIZE);
const short = showRows(rowsOf('dc'), idOf, SIZE);

test('the first read is shown as it is, as far as the page goes', () => {
  expect(write(full)).toBe('dcba');
  expect(full).toMatchObject({ newCount: 0, hasMissing: false });
});

test('cells change in their rows', () => {
  const list = updateRows(short, [{ id: 'c', value: 2 }, { id: 'd' }], idOf, {
    size: SIZE,
    isComplete: true,
  });
  expect(list.shown.map(({ row }) => row.value)).toEqual([undefined, 2]);
  expect(write(list)).toBe('dc');
});

describe.each([
  ['new rows wait', full, 'fedcba9', 'dcba', 2, false],
  ['a row in the middle waits too', full, 'dcxba9', 'dcba', 1, false],
  ['what slides up from the next page is not new', full, 'dcb98', 'dcb(a)', 0, true],
  ['a row that left the filter stays', full, 'fdba98', 'd(c)ba', 1, true],
  ['on a short page every other row is new', short, 'dcba', 'dc', 2, false],
  ['all rows left the filter', short, '', '(d)(c)', 0, true],
])('%s', (_title, before, ids, shown, newCount, hasMissing) => {
  test('by a complete read', () => {
    const list = update(before, ids);
    expect(write(list)).toBe(shown);
    expect(list).toMatchObject({ newCount, hasMissing });
  });
});

test('rows behind a read that is cut are not missing', () => {
  expect(write(update(full, 'zyxdc', false))).toBe('dcba');
  expect(update(full, 'zyxdc', false).newCount).toBe(3);
});

test('so many new rows that no shown one was read: none is missing, all are new', () => {
  const list = update(full, 'zyxwv', false);
  expect(write(list)).toBe('dcba');
  expect(list.newCount).toBe(5);
});

test('a row that comes back is no longer missing', () => {
  expect(write(update(update(full, 'dba'), 'dcba'))).toBe('dcba');
});
