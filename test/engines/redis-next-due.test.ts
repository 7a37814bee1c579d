/** When the next entry is due, although notifications may overtake the replies to earlier calls. */
import { expect, test } from 'vitest';
import { createNextDue } from '../../server/engines/redis/next-due.ts';

test('the earliest notification counts until a reply says otherwise', () => {
  const nextDue = createNextDue();
  expect(nextDue.ms()).toBeUndefined();
  nextDue.note(20);
  nextDue.note(10);
  nextDue.note(30);
  expect(nextDue.ms()).toBe(10);
  nextDue.begin()(50);
  expect(nextDue.ms()).toBe(50);
  nextDue.begin()(undefined);
  expect(nextDue.ms()).toBeUndefined();
});

test('a notification that overtakes the reply to a call still counts after it', () => {
  const nextDue = createNextDue();
  nextDue.note(5);
  const first = nextDue.begin();
  nextDue.note(10);
  const second = nextDue.begin();
  first(50);
  expect(nextDue.ms()).toBe(10);
  second(50);
  expect(nextDue.ms()).toBe(50);
});
