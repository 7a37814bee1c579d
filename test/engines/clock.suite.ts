/** The store's clock, and cursors that keep rising whatever the machine's clock does. */
import { describe, expect, test } from 'vitest';
import { cursorsOf, finish, readFeed } from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const DAY_MS = 24 * 3_600_000;

export function describeClock({ store, reopen, underTest }: SuiteContext): void {
  const msOf = (cursor: string | undefined): number => Number(cursor?.split('-')[0]);

  describe('the clock', () => {
    test('counts whole milliseconds and advances with time', async () => {
      const before = store().nowMs();
      expect(Number.isInteger(before)).toBe(true);
      await underTest().advance(1_234);
      expect(store().nowMs()).toBe(before + 1_234);
    });

    test('is the time of events', async () => {
      await finish(store(), 't1');
      const [first] = cursorsOf(await readFeed(store(), 's', null, 1));
      expect(msOf(first)).toBe(store().nowMs());
    });
  });

  describe('cursors', () => {
    test('rise across restarts', async () => {
      for (let round = 0; round < 3; round += 1) {
        await finish(store(), `a${round}`);
        await finish(store(), `b${round}`);
        await reopen();
      }
      const cursors = cursorsOf(await readFeed(store(), 's', null, 6));
      expect(new Set(cursors).size).toBe(6);
    });

    test('rise when the clock of the machine was set back a day before a restart', async () => {
      await finish(store(), 't1');
      const before = store().nowMs();
      await reopen({ wallShiftMs: -DAY_MS });
      expect(store().nowMs()).toBeLessThan(before);
      await finish(store(), 't2');
      await underTest().advance(5);
      await finish(store(), 't3');
      const items = await readFeed(store(), 's', null, 3);
      expect(items.map((item) => (item.gap ? 'gap' : item.request_id))).toEqual(['t1', 't2', 't3']);
      const [first = '', second = '', third = ''] = cursorsOf(items);
      expect(new Set([first, second, third]).size).toBe(3);
      expect(msOf(second)).toBeGreaterThanOrEqual(msOf(first));
      const after = await readFeed(store(), 's', second, 1);
      expect(cursorsOf(after)).toEqual([third]);
    });

    test('rise when the clock was set a day ahead', async () => {
      await finish(store(), 't1');
      await reopen({ wallShiftMs: DAY_MS });
      await finish(store(), 't2');
      await reopen();
      await finish(store(), 't3');
      const cursors = cursorsOf(await readFeed(store(), 's', null, 3));
      expect(msOf(cursors[1])).toBeGreaterThanOrEqual(msOf(cursors[0]) + DAY_MS);
      expect(msOf(cursors[2])).toBeGreaterThanOrEqual(msOf(cursors[1]));
      expect(new Set(cursors).size).toBe(3);
    });
  });
}
