/**
 * The decisions about the clock of Redis: how a store starts that no gateway ran on, and who is wrong when a
 * gateway's clock and the store's time contradict each other.
 */
import { describe, expect, test } from 'vitest';
import {
  type ClockReading,
  checkTimeGoesOn,
  classifyDisagreement,
  decideStart,
  parseClockReading,
  SWEEP_NOTED_WITHIN_MS,
} from '../../server/engines/redis/clock/clock-decisions.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** A store that was left ten minutes ago, by a clock that was and is right. */
const LEFT: ClockReading = {
  redisMs: NOW,
  offsetMs: 0,
  offsetNumber: 3,
  isTimeLeftOut: false,
  agreedMs: NOW - 10 * MINUTE,
  lastMs: NOW - 10 * MINUTE,
};

test('a reading is read as the scripts write it', () => {
  expect(parseClockReading('1700000000000 -90000 3 1 1699999999000 1699999999500')).toEqual({
    redisMs: NOW,
    offsetMs: -90_000,
    offsetNumber: 3,
    isTimeLeftOut: true,
    agreedMs: NOW - 1_000,
    lastMs: NOW - 500,
  });
});

describe('the time of a store goes on', () => {
  test.each([
    ['where it is new', { lastMs: 0 }, true],
    ['after a sweep just now', { lastMs: NOW - 2_000 }, true],
    ['but not after a pause', { lastMs: NOW - 3_000 }, false],
    ['nor where it would run back', { lastMs: NOW + 1 }, false],
    ['by its offset', { lastMs: NOW - MINUTE, offsetMs: 1_000 - MINUTE }, true],
  ] as const)('%s', (_case, change, expected) => {
    expect(checkTimeGoesOn({ ...LEFT, ...change })).toBe(expected);
  });
});

describe('a store that no gateway ran on', () => {
  const last = LEFT.lastMs + SWEEP_NOTED_WITHIN_MS;
  test.each<[string, Partial<ClockReading>, number, number, boolean]>([
    ['takes TIME where the hosts agree', {}, NOW + MINUTE, 0, false],
    ['leaves time out where they do not', {}, NOW + MINUTE + 1, last - NOW, true],
    ['and where Redis is a day ahead', { redisMs: NOW + DAY }, NOW, last - NOW - DAY, true],
    ['never runs back where it is a day behind', { redisMs: NOW - DAY }, NOW, last - NOW + DAY, true],
    ['goes on where both hosts were set back', { redisMs: NOW - DAY }, NOW - DAY, last - NOW + DAY, false],
    ['keeps an offset that agrees with the host', { redisMs: NOW + DAY, offsetMs: -DAY }, NOW, -DAY, false],
    ['drops an offset where TIME is right again', { offsetMs: -DAY }, NOW, 0, false],
  ])('%s', (_case, change, wallMs, offsetMs, isTimeLeftOut) => {
    expect(decideStart({ ...LEFT, ...change }, wallMs)).toEqual({ offsetMs, isTimeLeftOut });
  });
});

describe('where a gateway and the store disagree', () => {
  const own = { latestMs: NOW, offsetNumber: 3 };
  test.each<[string, Partial<ClockReading>, string]>([
    ['the clock of Redis stepped ahead', { redisMs: NOW + DAY, agreedMs: NOW - 300 }, 'redis_stepped'],
    ['it stepped back', { redisMs: NOW - 20_000, agreedMs: NOW - 300 }, 'redis_stepped'],
    [
      'others swept in its future: its own clock stood still',
      { redisMs: NOW + 20_000, agreedMs: NOW + 19_500 },
      'own_clock_stood_still',
    ],
    ['another set the clock', { redisMs: NOW + DAY, offsetNumber: 4 }, 'set_by_another'],
    [
      'a failover lost the offset that was set',
      { redisMs: NOW + DAY, offsetNumber: 2, agreedMs: NOW - 300 },
      'redis_stepped',
    ],
  ])('%s', (_case, change, expected) => {
    expect(classifyDisagreement({ ...LEFT, ...change }, own)).toBe(expected);
  });
});
