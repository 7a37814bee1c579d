/** What a folded view of JSON shows: summaries, cut texts, pages of children, pairs of a preview. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  describeJson,
  escapeText,
  listChildren,
  measureJson,
  readPairs,
} from '../../server/console/parts/json-model.ts';

describe('a value', () => {
  test.each([
    [null, { kind: 'plain', text: 'null' }],
    [true, { kind: 'plain', text: 'true' }],
    [1e21, { kind: 'plain', text: '1e+21' }],
    [{}, { kind: 'plain', text: '{}' }],
    [[], { kind: 'plain', text: '[]' }],
    [{ a: 1 }, { kind: 'container', open: '{', close: '}', summary: '1 key', size: 1 }],
    [[1, 2], { kind: 'container', open: '[', close: ']', summary: '2 items', size: 2 }],
    ['a "text"\n', { kind: 'text', shown: 'a \\"text\\"\\n', restLength: 0 }],
  ])('%j', (value, node) => {
    expect(describeJson(value)).toEqual(node);
  });

  test('a text over 220 characters is cut, never within a pair', () => {
    expect(describeJson('x'.repeat(220))).toMatchObject({ restLength: 0 });
    expect(describeJson('x'.repeat(449))).toEqual({ kind: 'text', shown: 'x'.repeat(180), restLength: 269 });
    const node = describeJson(`${'x'.repeat(179)}${'🌙'.repeat(40)}`);
    expect(node).toMatchObject({ shown: `${'x'.repeat(179)}🌙`, restLength: 78 });
  });

  test('characters that hide or turn what follows are written as codes', () => {
    expect(escapeText('\u202egnp.exe\u200b\u2066')).toBe('\\u202egnp.exe\\u200b\\u2066');
    expect(escapeText('<img src=x onerror=alert(1)> 家族👨‍👩‍👧')).toBe(
      '<img src=x onerror=alert(1)> 家族👨‍👩‍👧',
    );
  });

  test('its size is that of compact JSON in UTF-8', () => {
    expect(measureJson({ a: '构' })).toBe(11);
  });
});

describe('children', () => {
  const list = (count: number) => Array.from({ length: count }, (_, index) => index);

  test.each([
    [200, 1, 200, 0],
    [201, 1, 100, 101],
    [201, 2, 200, 1],
    [201, 3, 201, 0],
  ])('of %d after %d pages: %d, and %d follow', (size, pages, shown, restCount) => {
    const found = listChildren(list(size), pages);
    expect(found.children).toHaveLength(shown);
    expect(found.restCount).toBe(restCount);
    const keyed = Object.fromEntries(list(size).map((key) => [`k${key}`, key]));
    expect(listChildren(keyed, pages).children).toHaveLength(shown);
  });

  test('have the keys of an object, those of every object too', () => {
    const value: object = JSON.parse('{"__proto__":1,"toString":{"a":2}}');
    expect(listChildren(value, 1).children).toEqual([
      { key: '__proto__', value: 1 },
      { key: 'toString', value: { a: 2 } },
    ]);
  });
});

describe('the pairs of a preview', () => {
  test.each([
    ['{"model":"small-v3","texts":512}', ['model small-v3', 'texts 512']],
    ['{"a":{"b":[1,2]},"c":null}', ['a {"b":[1,2]}', 'c null']],
    ['{"scene":"opening","passes":["beauty","sha', ['scene opening', 'passes ["beauty","sha…"]']],
    ['{"scene":"opening","passes":["beauty",', ['scene opening']],
    ['{"text":"请把第三季', ['text 请把第三季…']],
    ['{"text":"quote \\', ['text quote …']],
    ['{"text":"\\u4f', ['text …']],
    ['{"a":1,"b', ['a 1']],
    ['{"a":1,"b":tr', ['a 1']],
    ['{"a":1,"b":{"c":2,"d":', ['a 1']],
    ['{}', []],
  ])('%s', (preview, pairs) => {
    expect(readPairs(preview)?.map(({ key, text }) => `${key} ${text}`)).toEqual(pairs);
  });

  test('a preview that is not the beginning of an object has none', () => {
    expect(['', '[1]', 'nonsense', '"text"'].map(readPairs)).toEqual([null, null, null, null]);
  });

  test('an object that is cut within its first pair has none, as it is not empty', () => {
    const cut = ['{', '{"mod', '{"model"', '{"model":', '{"model":tr', '{"model":-', '{"a":{"b":{"c":'];
    expect(cut.map(readPairs)).toEqual(cut.map(() => null));
  });

  test('any object, cut anywhere, has its first pairs as they are, and none only if it is empty', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(240), (value, cut) => {
        const preview = JSON.stringify(value).slice(0, Math.max(cut, 1));
        const pairs = readPairs(preview);
        if (pairs === null) return;
        expect(pairs.length === 0).toBe(preview === '{}');
        const whole = Object.entries(value).map(([key, one]) => ({
          key,
          text: typeof one === 'string' ? one : JSON.stringify(one),
        }));
        expect(pairs.slice(0, -1)).toEqual(whole.slice(0, Math.max(pairs.length - 1, 0)));
      }),
    );
  });
});
