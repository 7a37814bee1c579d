/** The scale of a timeline: where times are drawn, which gaps are cut and where the axis has labels. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CUT_PX, chooseOpenEnd, createScale } from '../../server/console/timeline/scale.ts';

const WIDTH = 600;
/** Something happened at these moments, and the task waited all the time. */
const waited = (moments: readonly number[]) => ({ moments, waits: [{ from: 0, to: 1e9 }] });

describe('a scale without cuts', () => {
  test('is linear', () => {
    const { toPx, cuts } = createScale(120, waited([0, 15, 60, 120]), WIDTH);
    expect(cuts).toEqual([]);
    expect([0, 15, 60, 120].map(toPx)).toEqual([0, 75, 300, 600]);
  });

  test('draws times beyond its edges at them', () => {
    const { toPx } = createScale(10, waited([]), WIDTH);
    expect([toPx(-1), toPx(11)]).toEqual([0, WIDTH]);
  });

  test('has a width for a task that took no time', () => {
    const { toPx } = createScale(0, waited([0]), WIDTH);
    expect(toPx(0)).toBe(0);
  });
});

describe('labels', () => {
  test.each([
    ['3 ms', 0.003, [0, 0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.003], 0.0005],
    ['800 ms', 0.8, [0, 0.2, 0.4, 0.6, 0.8], 0.2],
    ['4.2 s', 4.2, [0, 1, 2, 3, 4.2], 1],
    ['30.004 s', 30.004, [0, 5, 10, 15, 20, 25, 30.004], 5],
    ['1 min 58 s', 118.402, [0, 15, 30, 45, 60, 75, 90, 105, 118.402], 15],
    ['10 min', 600, [0, 120, 240, 360, 480, 600], 120],
    ['2 h 14 min', 8_050, [0, 1_800, 3_600, 5_400, 8_050], 1_800],
    ['3 days', 259_200, [0, 43_200, 86_400, 129_600, 172_800, 216_000, 259_200], 43_200],
  ])('of %s are multiples of a step that people count in', (_title, end, _wished, step) => {
    const { ticks } = createScale(end, waited([]), WIDTH);
    expect(ticks[0]).toBe(0);
    expect(ticks.at(-1)).toBe(end);
    for (const tick of ticks.slice(1, -1)) {
      const steps = tick / (ticks[1] ?? 1);
      expect(steps).toBeCloseTo(Math.round(steps));
    }
    expect(ticks[1]).toBeGreaterThanOrEqual(step * 0.99);
    expect(ticks.length).toBeGreaterThanOrEqual(4);
  });

  test('of any end are at most 8, and none is near the end or another', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.002, max: 604_800, noNaN: true }),
        fc.integer({ min: 200, max: 1_600 }),
        (end, width) => {
          const { ticks, toPx } = createScale(end, waited([]), width);
          expect(ticks.length).toBeLessThanOrEqual(8);
          for (const [index, tick] of ticks.slice(0, -1).entries()) {
            if (index > 0) expect(toPx(end) - toPx(tick)).toBeGreaterThanOrEqual(60);
            const next = ticks[index + 1] ?? end;
            expect(toPx(next) - toPx(tick)).toBeGreaterThan(47);
          }
        },
      ),
    );
  });
});

describe('cuts', () => {
  test('one long gap beside much that is near together', () => {
    const { cuts, toPx, ticks } = createScale(8_050, waited([0, 0.004, 0.04, 3.5, 8_041, 8_050]), WIDTH);
    expect(cuts).toEqual([{ from: 3.5, to: 8_041 }]);
    expect(toPx(8_041) - toPx(3.5)).toBeCloseTo(CUT_PX);
    expect(toPx(8_050)).toBeCloseTo(WIDTH);
    expect(ticks.slice(0, -1).every((tick) => tick <= 3.5)).toBe(true);
    expect(ticks.at(-1)).toBe(8_050);
  });

  test('two at most, the longest', () => {
    const { cuts } = createScale(100_000, waited([1, 90_001, 90_002, 99_002, 99_003, 99_903]), WIDTH);
    expect(cuts).toEqual([
      { from: 1, to: 90_001 },
      { from: 90_002, to: 99_002 },
    ]);
  });

  test('only one where two would leave milliseconds of half a minute', () => {
    const { cuts } = createScale(25, waited([0.001, 0.008, 22.7]), WIDTH);
    expect(cuts).toEqual([{ from: 0.008, to: 22.7 }]);
  });

  test.each([
    ['of half of the whole', 100, [50, 51, 52]],
    ['of 80 %, beside which the rest has width enough', 100, [1, 81]],
    ['of the whole, without any rest', 30, [0, 30]],
    ['that would have less width than its cut has', 100, [2, 99], 78],
  ])('no gap %s', (_title, end, moments, width = WIDTH) => {
    expect(createScale(end, waited(moments), width).cuts).toEqual([]);
  });

  test('no run, however short the rest is: an 18-s run is drawn as long as it was', () => {
    const moments = [0, 0.095, 18];
    const { cuts, toPx } = createScale(18, { moments, waits: [{ from: 0, to: 0.09 }] }, WIDTH);
    expect(cuts).toEqual([]);
    expect(toPx(0.095)).toBeLessThan(0.01 * WIDTH);
  });

  test('the wait before a run, and not the run', () => {
    const course = { moments: [0, 900, 901, 960], waits: [{ from: 0, to: 900 }] };
    expect(createScale(960, course, WIDTH).cuts).toEqual([{ from: 0, to: 900 }]);
  });

  test('times keep their order and stay within the width, whatever happened', () => {
    const times = fc.array(fc.double({ min: 0, max: 100_000, noNaN: true }), { maxLength: 20 });
    fc.assert(
      fc.property(times, fc.integer({ min: 150, max: 1_600 }), (moments, width) => {
        const end = Math.max(1, ...moments);
        const { toPx, cuts } = createScale(end, waited(moments), width);
        expect(cuts.length).toBeLessThanOrEqual(2);
        const pixels = moments.toSorted((a, b) => a - b).map(toPx);
        for (const [index, px] of pixels.entries()) {
          expect(px).toBeGreaterThanOrEqual((pixels[index - 1] ?? 0) - 1e-6);
          expect(px).toBeLessThanOrEqual(width + 1e-6);
        }
        expect(toPx(end)).toBeCloseTo(width);
      }),
    );
  });
});

describe('the end of an open task', () => {
  test.each([
    [0, 5],
    [5, 5],
    [5.1, 7.5],
    [7.5, 7.5],
    [7.6, 11.25],
    [60, 85.4296875],
  ])('after %d s is at %d s', (seconds, end) => {
    expect(chooseOpenEnd(seconds)).toBeCloseTo(end);
  });

  test('is never before now, and at most half as far again beyond it', () => {
    fc.assert(
      fc.property(fc.double({ min: 5, max: 604_800, noNaN: true }), (seconds) => {
        const end = chooseOpenEnd(seconds);
        expect(end).toBeGreaterThanOrEqual(seconds * (1 - 1e-6));
        expect(end).toBeLessThanOrEqual(seconds * 1.5 * (1 + 1e-6));
      }),
    );
  });
});
