/** What the Redis engine makes of time: that of Redis, seen over a network, and that of calls that are not answered. */
import { describe, expect, test } from 'vitest';
import { createCalls } from '../../server/engines/redis/calls.ts';
import { createStoreTime } from '../../server/engines/redis/store-time.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { createRandom, drawSeed, follow, until } from './store-under-test.ts';

describe('the time of Redis', () => {
  test('is known to a millisecond once some answers were quick, however slow and uneven the others are', async () => {
    const chance = createRandom(drawSeed());
    const clock = createFakeClock();
    const AHEAD_MS = 1_234_567_890_123;
    const time = createStoreTime(clock);
    for (let answers = 0; answers < 200; answers += 1) {
      const sentMs = clock.monotonicMs();
      const [thereMs, backMs] = [chance.next(40), answers % 10 === 0 ? 0 : chance.next(40)];
      await clock.advance(answers % 10 === 0 ? 0 : thereMs);
      const redisMs = AHEAD_MS + clock.monotonicMs();
      await clock.advance(backMs);
      time.learn(redisMs, sentMs);
    }
    const offMs = time.nowMs() - (AHEAD_MS + clock.monotonicMs());
    expect(Math.abs(offMs), `seed ${chance.seed}`).toBeLessThanOrEqual(1);
  });

  test('goes on with the clock of the process, and never falls when that of Redis is set back', async () => {
    const clock = createFakeClock();
    const time = createStoreTime(clock);
    time.learn(10_000, clock.monotonicMs());
    const before = time.nowMs();
    await clock.advance(500);
    expect(time.nowMs()).toBe(before + 500);
    time.learn(3_000, clock.monotonicMs());
    expect(time.nowMs()).toBe(before + 500);
    await clock.advance(10_000);
    // Redis tells whole milliseconds: it may be almost one later than it says.
    expect(time.nowMs() - 13_000).toBeLessThanOrEqual(1);
    expect(time.nowMs()).toBeGreaterThanOrEqual(13_000);
  });

  test('is followed at once when it is set ahead', () => {
    const clock = createFakeClock();
    const time = createStoreTime(clock);
    time.learn(10_000, clock.monotonicMs());
    time.learn(86_410_000, clock.monotonicMs());
    expect(time.nowMs()).toBe(86_410_000);
  });
});

describe('calls that are under way', () => {
  function open() {
    const clock = createFakeClock();
    const stop = new AbortController();
    let late = 0;
    const onLate = (): void => {
      late += 1;
      calls.giveUp(new Error('late'));
    };
    const calls = createCalls({ clock, withinMs: 4_500, onLate, signal: stop.signal });
    return { clock, calls, stop, late: () => late };
  }

  test('are given up together when the oldest has waited its time', async () => {
    const { clock, calls, late } = open();
    const first = follow(calls.run(new Promise(() => undefined)));
    await clock.advance(3_000);
    const second = follow(calls.run(new Promise(() => undefined)));
    await clock.advance(1_499);
    expect(first.now()).toBe('waiting');
    await clock.advance(1);
    await until('both were given up', () => first.now() === 'failed' && second.now() === 'failed');
    expect(late()).toBe(1);
  });

  test('are not late when the process itself stood still and the answer is there', async () => {
    const { clock, calls, late } = open();
    const answer = Promise.withResolvers<string>();
    const call = calls.run(answer.promise);
    // The answer is read in the turn of the event loop in which the timer, long overdue, fires.
    setImmediate(() => answer.resolve('there'));
    await clock.advance(20_000);
    expect(await call).toBe('there');
    expect(late()).toBe(0);
  });

  test('are waited for when the line is closed; later ones keep their own time', async () => {
    const { clock, calls, late } = open();
    const answer = Promise.withResolvers<string>();
    const call = calls.run(answer.promise);
    const over = follow(calls.whenOver());
    await clock.advance(4_000);
    expect(over.now()).toBe('waiting');
    answer.resolve('there');
    await call;
    await until('all are over', () => over.now() === 'done');
    const next = follow(calls.run(new Promise(() => undefined)));
    await clock.advance(4_499);
    expect(next.now()).toBe('waiting');
    await clock.advance(1);
    await until('it was given up', () => next.now() === 'failed');
    expect(late()).toBe(1);
  });
});
