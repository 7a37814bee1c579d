/** The `ETag` of what is read again and again: it is the same while only the time changes. */
import { expect, test } from 'vitest';
import { replyTagged } from '../../server/http/response/entity-tag.ts';

const read = (time: number, last: number, ifNoneMatch?: string) =>
  replyTagged({ time, rows: [...Array<number>(50_000).fill(1), last] }, ifNoneMatch);

test('A change at the end of a long response has another tag, and a later time alone has not.', () => {
  const tag = read(1, 1).headers.ETag ?? '';
  expect(read(2, 1, tag)).toMatchObject({ status: 304, headers: { ETag: tag } });
  const changed = read(2, 2, tag);
  expect(changed.status).toBe(200);
  expect(changed.headers.ETag).not.toBe(tag);
});
