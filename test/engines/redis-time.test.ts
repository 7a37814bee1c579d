/**
 * Time in the Redis engine: that of Redis, seen over a network, and the time limit of calls without a reply.
 */
import { describe, expect, test } from 'vitest';
import { createDeadlineSet } from '../../server/async/deadline-set.ts';
import { createStoreTime } from '../../server/engines/redis/store-time.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { createRandom, drawSeed, follow, until } from './store-under-test.ts';

describe('the time of Redis', () => {
  test('is known to a millisecond after some quick replies, however slow and uneven the others are', async () => {
    const random = createRandom(drawSeed());
    const clock = createFakeClock();
    const OFFSET_MS = 1_234_567_890_123;
    const time = createStoreTime(clock, () => 0);
    for (let replies = 0; replies < 200; replies += 1) {
      const sentMs = clock.monotonicMs();
      const isQuick = replies % 10 === 0;
      const [requestMs, replyMs] = [random.next(40), isQuick ? 0 : random.next(40)];
      await clock.advance(isQuick ? 0 : requestMs);
      const redisMs = OFFSET_MS + clock.monotonicMs();
      await clock.advance(replyMs);
      time.learn(redisMs, sentMs);
    }
    const errorMs = time.nowMs() - (OFFSET_MS + clock.monotonicMs());
    expect(Math.abs(errorMs), `seed ${random.seed}`).toBeLessThanOrEqual(1);
  });

  test('advances with the clock of the process, never falls by what the network adds, and follows a step', async () => {
    const clock = createFakeClock();
    const time = createStoreTime(clock, () => 0);
    time.learn(10_000, clock.monotonicMs());
    await clock.advance(500);
    expect(time.nowMs()).toBe(10_500);
    time.learn(10_000, clock.monotonicMs());
    expect(time.nowMs()).toBe(10_500);
    time.learn(3_000, clock.monotonicMs());
    expect([3_000, 3_001]).toContain(time.nowMs());
    time.learn(90_000_000, clock.monotonicMs());
    expect([90_000_000, 90_000_001]).toContain(time.nowMs());
  });

  test('more than a minute from that of this host is a warning', () => {
    const clock = createFakeClock();
    let wallMs = 0;
    const time = createStoreTime(clock, () => wallMs);
    const warningAt = (ms: number): string | null => {
      wallMs = ms;
      time.learn(1_000_000, clock.monotonicMs());
      return time.warning();
    };
    expect(time.warning()).toBeNull();
    for (const ms of [940_000, 1_000_000, 1_060_000]) expect(warningAt(ms)).toBeNull();
    expect(warningAt(939_000)).toMatch(/^The clock of Redis is 61 s ahead of that of this host/);
    expect(warningAt(4_600_000)).toMatch(/is 3600 s behind that of this host/);
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
