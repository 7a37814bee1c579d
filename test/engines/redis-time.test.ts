/**
 * Time in the Redis engine: that of Redis, seen over a network, and the time limit of calls without a reply.
 */
import { describe, expect, test } from 'vitest';
import { createDeadlineSet } from '../../server/async/deadline-set.ts';
import { createStoreTime } from '../../server/engines/redis/clock/store-time.ts';
import { CLOCK_STEP_MS } from '../../server/engines/redis/scripts.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { createRandom, drawSeed, follow, until } from './store-under-test.ts';

describe('the time of Redis', () => {
  test('is known to a millisecond after some quick replies, however slow and uneven the others are', async () => {
    const random = createRandom(drawSeed());
    const clock = createFakeClock();
    const OFFSET_MS = 1_234_567_890_123;
    const time = createStoreTime(clock);
    for (let replies = 0; replies < 200; replies += 1) {
      const sentMs = clock.monotonicMs();
      const isQuick = replies % 10 === 0;
      const [requestMs, replyMs] = [random.next(40), isQuick ? 0 : random.next(40)];
      await clock.advance(isQuick ? 0 : requestMs);
      const redisMs = OFFSET_MS + clock.monotonicMs();
      await clock.advance(replyMs);
      time.learn({ storeMs: redisMs, sentMs });
    }
    const errorMs = time.nowMs() - (OFFSET_MS + clock.monotonicMs());
    expect(Math.abs(errorMs), `seed ${random.seed}`).toBeLessThanOrEqual(1);
  });

  test('advances with the clock of the process, and never falls when that of Redis is set back', async () => {
    const clock = createFakeClock();
    const time = createStoreTime(clock);
    time.learn({ storeMs: 10_000, sentMs: clock.monotonicMs() });
    const startMs = time.nowMs();
    await clock.advance(500);
    expect(time.nowMs()).toBe(startMs + 500);
    time.learn({ storeMs: 3_000, sentMs: clock.monotonicMs() });
    expect(time.nowMs()).toBe(startMs + 500);
    await clock.advance(10_000);
    // Redis reports whole milliseconds: its time may be almost one more.
    expect(time.nowMs() - 13_000).toBeLessThanOrEqual(1);
    expect(time.nowMs()).toBeGreaterThanOrEqual(13_000);
  });

  test('has bounds that hold for a call on its way, and a step is what lies outside of them', async () => {
    const clock = createFakeClock();
    const time = createStoreTime(clock);
    expect(time.bounds()).toBeNull();
    await clock.advance(100);
    time.learn({ storeMs: 10_050, sentMs: 0 });
    // The time was read between 0 and 100 on the monotonic clock; the next call may take as long.
    expect(time.bounds()).toEqual({ earliestMs: 10_050, latestMs: 10_151 + CLOCK_STEP_MS + 101 });
    await clock.advance(5_000);
    const sentMs = clock.monotonicMs();
    for (const [offMs, stepMs] of [
      [0, 0],
      [CLOCK_STEP_MS, 0],
      [-CLOCK_STEP_MS, 0],
      [86_400_000, 86_400_000],
      [-20_000, -20_000],
    ] as const) {
      const measuredMs = time.measureStep({ storeMs: 15_100 + offMs, sentMs });
      expect(Math.abs(measuredMs - stepMs), String(offMs)).toBeLessThanOrEqual(1);
    }
    // A reply that took long is no step, however late the time in it seems.
    await clock.advance(4_000);
    expect(time.measureStep({ storeMs: 18_900, sentMs })).toBe(0);
  });

  test('widens its bounds while nothing is learned, because monotonic clocks drift apart', async () => {
    const clock = createFakeClock();
    const time = createStoreTime(clock);
    time.learn({ storeMs: 0, sentMs: 0 });
    const HOUR_MS = 3_600_000;
    await clock.advance(HOUR_MS);
    const { earliestMs, latestMs } = time.bounds() ?? { earliestMs: 0, latestMs: 0 };
    expect(HOUR_MS - earliestMs).toBe(1_800);
    expect(latestMs - HOUR_MS).toBe(1_800 + CLOCK_STEP_MS + 2);
  });
});

describe('calls that are under way', () => {
  function createCalls() {
    const clock = createFakeClock();
    let late = 0;
    const onLate = (): void => {
      late += 1;
      calls.rejectAll(new Error('late'));
    };
    const calls = createDeadlineSet({ clock, withinMs: 4_500, onLate });
    return { clock, calls, late: () => late };
  }

  test('are rejected together when the oldest is late', async () => {
    const { clock, calls, late } = createCalls();
    const first = follow(calls.run(new Promise(() => undefined)));
    await clock.advance(3_000);
    const second = follow(calls.run(new Promise(() => undefined)));
    await clock.advance(1_499);
    expect(first.now()).toBe('waiting');
    await clock.advance(1);
    await until('both were rejected', () => first.now() === 'failed' && second.now() === 'failed');
    expect(late()).toBe(1);
  });

  test('are rejected one by one where only the late call is, at most one check after their time', async () => {
    const clock = createFakeClock();
    const calls = createDeadlineSet({
      clock,
      withinMs: 4_000,
      checkEveryMs: 300,
      onLate: (reject) => reject(new Error('late')),
    });
    const first = follow(calls.run(new Promise(() => undefined)));
    await clock.advance(1_000);
    const second = follow(calls.run(new Promise(() => undefined)));
    await clock.advance(2_999);
    expect(first.now()).toBe('waiting');
    await clock.advance(301);
    expect([first.now(), second.now()]).toEqual(['failed', 'waiting']);
    await clock.advance(1_000);
    expect(second.now()).toBe('failed');
    expect(clock.sleeping()).toBe(0);
  });

  test('are not late when the process itself stood still and the reply has arrived', async () => {
    const { clock, calls, late } = createCalls();
    const reply = Promise.withResolvers<string>();
    const call = calls.run(reply.promise);
    // The reply is read in the tick of the event loop in which the timer, long overdue, fires.
    setImmediate(() => reply.resolve('arrived'));
    await clock.advance(20_000);
    expect(await call).toBe('arrived');
    expect(late()).toBe(0);
  });

  test('are waited for when the connection is closed; later ones have their own time limit', async () => {
    const { clock, calls, late } = createCalls();
    const reply = Promise.withResolvers<string>();
    const call = calls.run(reply.promise);
    const over = follow(calls.whenOver());
    await clock.advance(4_000);
    expect(over.now()).toBe('waiting');
    reply.resolve('arrived');
    await call;
    await until('all are over', () => over.now() === 'done');
    const next = follow(calls.run(new Promise(() => undefined)));
    await clock.advance(4_499);
    expect(next.now()).toBe('waiting');
    await clock.advance(1);
    await until('it was rejected', () => next.now() === 'failed');
    expect(late()).toBe(1);
  });
});
