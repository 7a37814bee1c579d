/** The `ETag` of what is read again and again: it is the same while only the time changes. */
import { expect, test } from 'vitest';
import { matchesTag, replyTagged } from '../../server/http/response/entity-tag.ts';

const readTag = (time: number, last: number): string =>
  replyTagged({ time, rows: [...Array<number>(50_000).fill(1), last] }).headers.ETag ?? '';

test('A change at the end of a long response has another tag, and a later time alone has not.', () => {
  const tag = readTag(1, 1);
  expect(tag).toMatch(/^W\/"[\w-]{22}"$/);
  expect([readTag(2, 1) === tag, readTag(2, 2) === tag]).toEqual([true, false]);
});

test.each([
  ['W/"a"', true],
  ['"a"', true],
  ['"b", W/"a"', true],
  [' * ', true],
  ['"b"', false],
  ['a', false],
  ['', false],
])('If-None-Match: %s names the tag: %s', (sent, isNamed) => {
  expect(matchesTag(sent, 'W/"a"')).toBe(isNamed);
});
