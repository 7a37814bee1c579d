/** JSON compared by value, and the text that equal values share. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSameJson, writeCanonical } from '../../server/domain/canonical-json.ts';

const parse = (text: string): unknown => JSON.parse(text);

/** The value with the keys of all its objects the other way round. */
function reverseKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reverseKeys(inner)]),
  );
}

test('a value is the same with its keys in another order, and no other value is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      expect(isSameJson(one, reverseKeys(one))).toBe(true);
      expect(writeCanonical(one)).toBe(writeCanonical(reverseKeys(one)));
      expect(isSameJson(one, other)).toBe(writeCanonical(one) === writeCanonical(other));
      expect(isSameJson([one], { '': one })).toBe(false);
    }),
  );
});

test.each([
  ['{"a":1,"b":{"c":[1.0,null],"d":"好"}}', '{"b":{"d":"\\u597d","c":[1,null]},"a":1e0}', true],
  ['{"__proto__":1,"a":2}', '{"a":2,"__proto__":1}', true],
  ['-0', '0', true],
  ['{"a":1,"b":2}', '{"a":2,"b":1}', false],
  ['[1,2]', '[2,1]', false],
  ['{"0":1}', '[1]', false],
  ['{"a":null}', '{}', false],
  ['"1"', '1', false],
  ['null', 'false', false],
])('%s and %s', (one, other, isSame) => {
  expect(isSameJson(parse(one), parse(other))).toBe(isSame);
});

test('an absent schema is the same as an absent one alone', () => {
  expect(isSameJson(['?', undefined], ['?', undefined])).toBe(true);
  expect(isSameJson(['?', undefined], ['?', {}])).toBe(false);
});

test('the text is that of the fingerprints in stores', () => {
  const value = parse('{"b":[{"d":1,"c":"x"}],"a":null,"10":1,"__proto__":{}}');
  expect(writeCanonical(value)).toBe(
    '{"":[["10",1],["__proto__",{"":[]}],["a",null],["b",[{"":[["c","x"],["d",1]]}]]]}',
  );
});
