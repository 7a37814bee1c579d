/** Ids of tasks: their form, their order, and the times that their last characters stand for. */
import { describe, expect, test } from 'vitest';
import { mintTaskId, ORDER_END, TAIL_END, windowsOf } from '../../server/domain/task-id.ts';
import { createIds } from '../../server/system/ids.ts';

const NOW_MS = 1_795_000_000_123;
const DAY_MS = 24 * 3_600_000;
/** After this long the same window comes again. */
const ROUND_MS = 2 ** 30;

const mint = (ms: number, order: number, tail: number): string =>
  mintTaskId({ submittedMs: ms, frontMs: ms, order, tail });

describe('the id of a task', () => {
  test.each([
    ['the first ones', 0, 0, 0],
    ['the last ones', 2 ** 48 - 1, ORDER_END - 1, TAIL_END - 1],
    ['any', NOW_MS, 123_456_789_012, 4_711],
  ])('is a UUID of version 7 with the time in front: of %s', (_, ms, order, tail) => {
    const id = mint(ms, order, tail);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(ms);
  });

  test('is greater with a greater order in the same millisecond, whatever its tail is', () => {
    const orders = [0, 1, 2 ** 16 - 1, 2 ** 16, 2 ** 30 - 1, 2 ** 30, 2 ** 30 + 1, ORDER_END - 1];
    const ids = orders.map((order, index) => mint(NOW_MS, order, TAIL_END - 1 - index));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('differs from others of the same time in most of its last characters', () => {
    const ends = new Set(Array.from({ length: 1_000 }, (_, tail) => mint(NOW_MS, 0, tail).slice(-8)));
    expect(ends.size).toBe(1_000);
    expect(new Set([...ends].map((end) => end.slice(0, 2))).size).toBeGreaterThan(200);
  });
});

describe('the end of an id', () => {
  const isIn = (ms: number, { fromMs, toMs }: { fromMs: number; toMs: number }): boolean =>
    fromMs <= ms && ms < toMs;

  test('leads to the time of its task, for every id of a process and every length from 8 on', () => {
    const { newRequestId } = createIds();
    for (let n = 0; n < 2_000; n += 1) {
      const ms = NOW_MS - n * 40_961;
      const id = createIds().newRequestId(ms);
      const [window, ...others] = windowsOf(n % 2 === 0 ? id.slice(-8) : id, NOW_MS, DAY_MS);
      if (!window) throw new Error(id);
      expect(isIn(ms, window), id).toBe(true);
      expect(window.toMs - window.fromMs).toBe(16_384);
      expect(others).toEqual([]);
    }
    expect(windowsOf(newRequestId(NOW_MS).toUpperCase(), NOW_MS, 0)).toHaveLength(1);
  });

  test('leads to the time of submission of an id that begins with a later one', () => {
    const edgeMs = Math.ceil(NOW_MS / 16_384) * 16_384;
    const id = mintTaskId({ submittedMs: edgeMs - 1, frontMs: edgeMs, order: 1, tail: 2 });
    expect(windowsOf(id, edgeMs - 1, 0)).toEqual([{ fromMs: edgeMs - 16_384, toMs: edgeMs }]);
  });

  test('stands for several times once tasks are kept for longer than the windows last, the latest first', () => {
    const id = mint(NOW_MS - 2 * ROUND_MS, 1, 2);
    const windows = windowsOf(id, NOW_MS, 2 * ROUND_MS + DAY_MS);
    expect(windows.map(({ fromMs }) => Math.round((NOW_MS - fromMs) / ROUND_MS))).toEqual([0, 1, 2]);
    expect(isIn(NOW_MS - 2 * ROUND_MS, windows[2] ?? { fromMs: 0, toMs: 0 })).toBe(true);
    expect(windowsOf(id, NOW_MS, DAY_MS)).toHaveLength(1);
  });

  test('leads to a task of another replica whose time is a little ahead', () => {
    const ms = Math.ceil(NOW_MS / 16_384) * 16_384;
    expect(windowsOf(mint(ms, 1, 2), ms - 1, 0).some((window) => isIn(ms, window))).toBe(true);
  });

  test.each(['', '1234567', '1234567g', 'abcd-123'])('that is not one stands for no time: %j', (suffix) => {
    expect(windowsOf(suffix, NOW_MS, DAY_MS)).toEqual([]);
  });
});
