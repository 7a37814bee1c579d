/** Work at a time: in order, at its time, unless it is taken back; one timer for all. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTimeQueue } from '../../server/async/time-queue.ts';
import { createFakeClock } from '../harness/fake-clock.ts';

describe('the queue of work at a time', () => {
  test('runs each piece at its time, earliest first, and none that was taken back', async () => {
    const plan = fc.array(
      fc.record({ afterMs: fc.integer({ min: 1, max: 50 }), isTakenBack: fc.boolean(), passMs: fc.nat(20) }),
      {
        maxLength: 30,
      },
    );
    await fc.assert(
      fc.asyncProperty(plan, async (pieces) => {
        const clock = createFakeClock();
        const queue = createTimeQueue(clock);
        const startMs = clock.monotonicMs();
        const ran: (readonly [number, number])[] = [];
        const expected: (readonly [number, number])[] = [];
        for (const [index, { afterMs, isTakenBack, passMs }] of pieces.entries()) {
          const atMs = clock.monotonicMs() - startMs + afterMs;
          const takeBack = queue.add(afterMs, () => ran.push([clock.monotonicMs() - startMs, index]));
          if (isTakenBack) takeBack();
          else expected.push([atMs, index]);
          await clock.advance(passMs);
        }
        await clock.advance(100);
        expect(ran.toSorted(([, a], [, b]) => a - b)).toEqual(expected);
        expect(ran.map(([atMs]) => atMs)).toEqual(ran.map(([atMs]) => atMs).toSorted((a, b) => a - b));
      }),
    );
  });

  test('sets no timer for what is due later than what it waits for', async () => {
    const clock = createFakeClock();
    let timers = 0;
    const queue = createTimeQueue({
      ...clock,
      sleep(ms, signal) {
        timers += 1;
        return clock.sleep(ms, signal);
      },
    });
    const takeBack = Array.from({ length: 1_000 }, (_, index) => queue.add(100 + index, () => undefined));
    for (const each of takeBack) each();
    expect(timers).toBe(1);
    await clock.advance(2_000);
    expect(timers).toBe(1);
  });
});
