/** The real clock of the SDK, as far as a test can see it without waiting. */
import { afterEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../sdk/clock.ts';

afterEach(() => void vi.restoreAllMocks());

test('a sleep until a time that has passed ends at once, and is no negative timer, of which Node warns', async () => {
  const timer = vi.spyOn(globalThis, 'setTimeout');
  await systemClock.sleep(-0.004);
  await systemClock.sleep(Number.NEGATIVE_INFINITY);
  expect(timer.mock.calls.map(([, ms]) => ms)).toEqual([0, 0]);
});
