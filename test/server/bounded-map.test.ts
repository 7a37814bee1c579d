/** A map that forgets the entry that was set least recently: which one, and what an entry leaves behind. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createBoundedMap } from '../../server/async/bounded-map.ts';
import { printFigure } from '../harness/figures.ts';
import { measureHeap } from '../harness/heap.ts';

describe('a map of bounded size', () => {
  test('is as a list of which the least recently set entry is dropped, whatever is set, read and deleted', () => {
    const calls = fc.array(fc.tuple(fc.constantFrom('set', 'get', 'delete'), fc.nat(7), fc.nat(99)));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), calls, (max, made) => {
        const forgotten: unknown[] = [];
        const expected: unknown[] = [];
        const map = createBoundedMap<number, number>(max, (key, value) => forgotten.push([key, value]));
        let list: (readonly [number, number])[] = [];
        for (const [call, key, value] of made) {
          if (call === 'get') expect(map.get(key)).toBe(list.find(([one]) => one === key)?.[1]);
          if (call === 'delete') map.delete(key);
          if (call !== 'get') list = list.filter(([one]) => one !== key);
          if (call !== 'set') continue;
          map.set(key, value);
          list.push([key, value]);
          if (list.length > max) expected.push(list.shift());
        }
        expect(forgotten).toEqual(expected);
        for (let key = 0; key < 8; key += 1) {
          expect(map.get(key)).toBe(list.find(([one]) => one === key)?.[1]);
        }
      }),
    );
  });

  test('keeps nothing of what it forgot', () => {
    const passed = 1_000_000;
    const map = createBoundedMap<number, number>(1_000);
    const pass = (from: number): void => {
      for (let key = from; key < from + passed; key += 1) {
        map.set(key, key);
        if (key % 3 === 0) map.set(key - 500, key);
        if (key % 7 === 0) map.delete(key - 100);
      }
    };
    pass(0);
    const before = measureHeap();
    pass(passed);
    const bytes = (measureHeap() - before) / passed;
    printFigure('bounded-map:kept', bytes, 'bytes an entry that was forgotten');
    expect(bytes).toBeLessThan(1);
    expect(map.get(2 * passed - 1)).toBe(2 * passed - 1);
  });
});
