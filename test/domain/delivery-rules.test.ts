/** The rules of delivery: pauses between attempts, and when a task wants to move to another agent. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryPauseMs, wantsToMove } from '../../server/domain/delivery.ts';
import type { Delivery } from '../../server/domain/task.ts';

const NOW = 1_000_000;
const fresh: Delivery = {
  assignedMs: NOW,
  attempts: 1,
  untaken: 0,
  attemptMs: NOW,
  acknowledged: false,
  disowned: 0,
  nextMs: NOW,
  busy: [],
  pull: false,
};
const ONLINE = { unavailableSinceMs: null, pull: false };
const untaken = (attempts: number, ageMs: number): Delivery => ({
  ...fresh,
  attempts,
  untaken: attempts,
  assignedMs: NOW - ageMs,
});

describe('the pause after an attempt', () => {
  test('doubles from 1 s to 30 s, plus or minus a quarter', () => {
    const middle = [1, 2, 3, 4, 5, 6, 7, 50].map((attempts) => retryPauseMs(attempts, 0.5, null));
    expect(middle).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    expect(retryPauseMs(1, 0, null)).toBe(750);
    expect(retryPauseMs(1, 0.999_999, null)).toBe(1_250);
    expect(retryPauseMs(6, 0.999_999, null)).toBeLessThanOrEqual(37_500);
  });

  test('follows a longer Retry-After, up to five minutes', () => {
    expect(retryPauseMs(1, 0.5, 20_000)).toBe(20_000);
    expect(retryPauseMs(6, 0.5, 5)).toBe(30_000);
    expect(retryPauseMs(1, 0.5, 86_400_000)).toBe(300_000);
  });
});

describe('a task wants to move to another agent', () => {
  test.each([
    [
      'not while it is acknowledged',
      { ...fresh, acknowledged: true },
      { unavailableSinceMs: 0, pull: false },
      false,
    ],
    ['not while the outcome of an attempt is unknown and its agent is online', fresh, ONLINE, false],
    [
      'not before its agent has been unavailable for 90 s',
      fresh,
      { unavailableSinceMs: NOW - 89_999, pull: false },
      false,
    ],
    [
      'when its agent has been unavailable for 90 s',
      fresh,
      { unavailableSinceMs: NOW - 90_000, pull: false },
      true,
    ],
    [
      'at once from an agent that is unavailable, if no attempt was taken',
      untaken(1, 0),
      { unavailableSinceMs: NOW, pull: false },
      true,
    ],
    ['not after two untaken attempts', untaken(2, 60_000), ONLINE, false],
    ['not before ten seconds have passed', untaken(5, 9_999), ONLINE, false],
    ['after three untaken attempts and ten seconds', untaken(3, 10_000), ONLINE, true],
    [
      'when it has been unclaimed for ten seconds',
      untaken(0, 10_000),
      { unavailableSinceMs: null, pull: true },
      true,
    ],
    [
      'not when it has been unclaimed for less than ten seconds',
      untaken(0, 9_999),
      { unavailableSinceMs: null, pull: true },
      false,
    ],
    [
      'not when its agent disowned it less than ten seconds ago and has not claimed it since',
      { ...untaken(1, 60_000), disowned: 1, disownedMs: NOW - 9_999 },
      { unavailableSinceMs: null, pull: true },
      false,
    ],
    [
      'at once when its agent responded that it is busy',
      { ...untaken(1, 0), busy: [{ agent_id: 'A', untilMs: NOW + 1 }] },
      ONLINE,
      true,
    ],
  ] as const)('%s', (_title, delivery, agent, expected) => {
    expect(wantsToMove(delivery, 'A', agent, NOW)).toBe(expected);
  });

  test('never while its first agent may have it and is online, for any number of attempts and any age', () => {
    const attempts = fc.integer({ min: 1, max: 50 });
    expect(() =>
      fc.assert(
        fc.property(attempts, fc.nat(10_000_000), fc.boolean(), (count, ageMs, pull) => {
          const delivery = { ...fresh, attempts: count, untaken: count - 1, assignedMs: NOW - ageMs };
          return !wantsToMove(delivery, 'A', { unavailableSinceMs: null, pull }, NOW);
        }),
      ),
    ).not.toThrow();
  });
});
