/**
 * The width of texts in a terminal, among them wide, invisible and emoji characters, and tables made of them.
 */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { cleanText, escapeJson, putLastFirst, stringifySafely } from '../../sdk/cli/terminal/safe-text.ts';
import { createTable, renderFields, renderTable } from '../../sdk/cli/terminal/table.ts';
import { measureWidth, padEnd, truncate } from '../../sdk/cli/terminal/width.ts';

describe('the width of a text', () => {
  test.each([
    ['', 0],
    ['abc', 3],
    ['é', 1],
    ['e\u0301', 1],
    ['世界', 4],
    ['ｆｕｌｌ', 8],
    ['ﾊﾝｶｸ', 4],
    ['한국어', 6],
    ['日本語 text', 11],
    ['👋', 2],
    ['👩‍👩‍👧‍👦', 2],
    ['🇨🇳', 2],
    ['❤️', 2],
    ['👍🏽', 2],
    ['\u200b', 0],
    ['…', 1],
    ['\u001b', 0],
  ])('of %j is %i', (text, width) => {
    expect(measureWidth(text)).toBe(width);
  });

  test('a text is padded and cut by columns, and never cut inside a character', () => {
    expect(padEnd('世界', 6)).toBe('世界  ');
    expect(truncate('世界你好', 5)).toBe('世界…');
    expect(truncate('世界你好', 8)).toBe('世界你好');
    expect(truncate('👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 3)).toBe('👩‍👩‍👧‍👦…');
    expect(truncate('abc', 0)).toBe('');
  });

  test('a cut text is never wider than allowed, and a padded text has exactly the given width', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (raw, width) => {
        const text = cleanText(raw);
        const cut = truncate(text, width);
        expect(measureWidth(cut)).toBeLessThanOrEqual(width);
        expect(measureWidth(padEnd(cut, width))).toBe(width);
      }),
    );
  });
});

const TRACEBACK = 'Traceback (most recent call last):\n  File "x.py", line 3\r\nValueError: no rows\n';

test('a list shows the last line of a text first, where a traceback says what happened', () => {
  expect(putLastFirst(TRACEBACK)).toBe(
    'ValueError: no rows ← Traceback (most recent call last): ⏎ File "x.py", line 3',
  );
  expect(putLastFirst('one line\n')).toBe('one line');
  expect(putLastFirst('')).toBe('');
});

test('a field keeps the lines of its value, below each other', () => {
  const fields = [
    ['id', '1'],
    ['error_info', TRACEBACK],
  ] as const;
  expect(renderFields(fields, (_colour, text) => text)).toBe(
    [
      ...['id          1', 'error_info  Traceback (most recent call last):'],
      ...['              File "x.py", line 3', '            ValueError: no rows', ''],
    ].join('\n'),
  );
});

describe('text from other people', () => {
  test('is cleaned of what moves the cursor, sets colours or the title, or reverses the text', () => {
    expect(cleanText('a\u001b[2Jb\u0007\u009b31mc\u202ed')).toBe('abcd');
    expect(cleanText('one\r\ntwo\tthree')).toBe('one two three');
    expect(cleanText('one\r\ntwo\n\tthree\u001b', true)).toBe('one\ntwo\n\tthree');
    expect(cleanText('👩‍👩‍👧‍👦 العربية')).toBe('👩‍👩‍👧‍👦 العربية');
    expect(cleanText('one\u0085two\u2028three')).toBe('one two three');
  });

  test('is escaped in JSON, which stays the same JSON', () => {
    const value = { 'k\u009b': '\u001b[31m\u007f\u0085\u202e\u2066\u061c\u2028 世界 👩‍👩‍👧‍👦' };
    const json = stringifySafely(value, 2);
    expect(JSON.parse(json)).toEqual(value);
    expect(json).toBe(
      '{\n  "k\\u009b": "\\u001b[31m\\u007f\\u0085\\u202e\\u2066\\u061c\\u2028 世界 👩‍👩‍👧‍👦"\n}',
    );
    fc.assert(
      fc.property(fc.jsonValue(), (any) => {
        expect(JSON.parse(escapeJson(JSON.stringify(any)))).toEqual(JSON.parse(JSON.stringify(any)));
      }),
    );
  });
});

describe('a table', () => {
  const columns = [
    { title: 'ID', cell: ({ id }: Row) => id, whole: true },
    { title: 'NAME', cell: ({ name }: Row) => name },
    { title: 'LAST', cell: ({ last }: Row) => last },
  ];
  type Row = { readonly id: string; readonly name: string; readonly last: string };
  const rows: readonly Row[] = [
    { id: '1', name: '世界', last: 'x' },
    { id: '22', name: 'a name in ASCII', last: 'y' },
    { id: '3', name: 'line\nbreak', last: '' },
  ];

  test('aligns its columns, whatever characters its cells contain', () => {
    const text = renderTable(columns, rows);
    expect(text).toBe(
      [
        ...['ID  NAME             LAST', '1   世界             x', '22  a name in ASCII  y'],
        ...['3   line break', ''],
      ].join('\n'),
    );
    for (const line of text.split('\n').slice(0, 3)) {
      expect(measureWidth(line.slice(0, line.search(/\S+$/)))).toBe(21);
    }
  });

  test('is cut to the terminal in its widest column, but never in an id', () => {
    const wide = [{ id: 'an-id-that-must-stay-as-it-is', name: '很'.repeat(40), last: 'end' }];
    const text = renderTable(columns, wide, { widthMax: 60 });
    for (const line of text.trimEnd().split('\n')) expect(measureWidth(line)).toBeLessThanOrEqual(60);
    expect(text).toContain('an-id-that-must-stay-as-it-is');
    expect(text).toMatch(/很… +end/);
  });

  test('never wraps: in a narrow terminal the last columns are left out, and the first one is cut', () => {
    expect(renderTable(columns, rows, { widthMax: 12 })).toBe(
      'ID  NAME\n1   世界\n22  a name …\n3   line br…\n',
    );
    expect(renderTable(columns, rows, { widthMax: 3 })).toBe('ID\n1\n22\n3\n');
    expect(renderTable(columns, rows, { widthMax: 1 })).toBe('…\n1\n…\n3\n');
  });

  test('of 150,000 rows is rendered at once or in pieces; wider rows widen their columns', () => {
    const many = Array.from({ length: 150_000 }, (_, index) => ({ id: `${index}`, name: 'x', last: 'y' }));
    expect(renderTable(columns, many).split('\n')).toHaveLength(150_002);
    const table = createTable(columns);
    expect(table.render(rows.slice(0, 1)) + table.render(rows.slice(1, 2))).toBe(
      'ID  NAME  LAST\n1   世界  x\n22  a name in ASCII  y\n',
    );
  });

  test('a huge cell is written whole to a file but does not widen its column, and costs a terminal nothing', () => {
    const wide = [{ id: '1', name: '长'.repeat(2_000_000), last: 'end' }, ...rows];
    const text = renderTable(columns, wide);
    expect(text).toContain('长'.repeat(2_000_000));
    expect(text.length).toBeLessThan(2_002_000);
    const segment = vi.spyOn(Intl.Segmenter.prototype, 'segment');
    expect(renderTable(columns, wide, { widthMax: 60 })).toMatch(/长… +end\n/);
    const longest = Math.max(...segment.mock.calls.map(([part]) => part.length));
    segment.mockRestore();
    expect(longest).toBeGreaterThan(20);
    expect(longest).toBeLessThan(10_000);
  });

  test('colours do not change the widths of columns', () => {
    const painted = columns.map((column) => ({
      ...column,
      paint: (text: string) => `\u001b[32m${text}\u001b[39m`,
    }));
    const bare = renderTable(painted, rows).replaceAll('\u001b[32m', '').replaceAll('\u001b[39m', '');
    expect(bare).toBe(renderTable(columns, rows));
  });
});
