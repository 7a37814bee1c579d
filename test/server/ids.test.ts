/** Ids of tasks and registrations. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { windowsOf } from '../../server/domain/task-id.ts';
import { createIds } from '../../server/system/ids.ts';

const START_MS = 1_700_000_000_000;
/** The last 8 characters of an id stand for this long. */
const WINDOW_MS = 2 ** 14;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The millisecond that an id begins with. */
const readFrontMs = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** The 42 bits that order the ids of a millisecond. */
function readOrder(id: string): number {
  const high = Number.parseInt(id.slice(15, 18), 16);
  return high * 2 ** 30 + (Number.parseInt(id.slice(19, 23) + id.slice(24, 28), 16) % 2 ** 30);
}

test('task ids are UUIDv7, unique, and ascend in the order of creation', () => {
  const { newRequestId } = createIds();
  const created = Array.from({ length: 2_000 }, (_, n) => newRequestId(START_MS + Math.floor(n / 100)));
  for (const id of created) expect(id).toMatch(UUID_V7);
  expect(new Set(created).size).toBe(created.length);
  expect(created.toSorted()).toEqual(created);
});

test('task ids ascend and end with the time of their submission, however the clock steps', () => {
  const steps = fc.oneof(
    fc.constant(0),
    fc.integer({ min: -3, max: 3 }),
    fc.double({ min: 0, max: 2, noNaN: true }),
    fc.integer({ min: -3 * WINDOW_MS, max: 3 * WINDOW_MS }),
  );
  const calls = fc.array(fc.record({ step: steps, ids: fc.integer({ min: 1, max: 1_200 }) }), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: WINDOW_MS }), calls, (offsetMs, times) => {
      const { newRequestId } = createIds();
      const wrong: string[] = [];
      let nowMs = START_MS + offsetMs;
      let before = '';
      for (const { step, ids } of times) {
        nowMs += step;
        for (let n = 0; n < ids; n += 1) {
          const id = newRequestId(nowMs);
          const [window] = windowsOf(id.slice(-8), nowMs, 0);
          const isOfWindow = window && nowMs >= window.fromMs && nowMs < window.toMs;
          if (!UUID_V7.test(id) || id <= before || readFrontMs(id) < Math.floor(nowMs) || !isOfWindow) {
            wrong.push(`${id} at ${nowMs}, after ${before}`);
          }
          before = id;
        }
      }
      expect(wrong).toEqual([]);
    }),
    { numRuns: 40 },
  );
});

test('a millisecond that is full borrows from the next, across the edge of a window too', () => {
  const { newRequestId } = createIds();
  const edgeMs = Math.ceil(START_MS / WINDOW_MS) * WINDOW_MS;
  // Each id takes 2^31 of the 2^42 orders on average.
  const last = Array.from({ length: 5_000 }, () => newRequestId(edgeMs - 1)).at(-1) ?? '';
  expect(readFrontMs(last)).toBeGreaterThanOrEqual(edgeMs);
  expect(windowsOf(last, edgeMs - 1, 0)).toEqual([{ fromMs: edgeMs - WINDOW_MS, toMs: edgeMs }]);

  const next = newRequestId(edgeMs);
  expect(next > last).toBe(true);
  expect(windowsOf(next, edgeMs, 0)[0]).toEqual({ fromMs: edgeMs, toMs: edgeMs + WINDOW_MS });
});

test('an id of the same millisecond is one of 2^48: 32 bits of the step and 16 of the end', () => {
  const pairs = Array.from({ length: 4_000 }, (_, n) => {
    const { newRequestId } = createIds();
    return [newRequestId(START_MS + n), newRequestId(START_MS + n)] as const;
  }).filter(([first, next]) => readFrontMs(first) === readFrontMs(next));
  expect(pairs.length).toBeGreaterThan(3_900);
  const steps = pairs.map(([first, next]) => readOrder(next) - readOrder(first));
  expect(Math.min(...steps)).toBeGreaterThan(0);
  expect(Math.max(...steps)).toBeLessThanOrEqual(2 ** 32);
  // Each of the 32 bits is set in about half of the steps.
  for (let bit = 0; bit < 32; bit += 1) {
    const share = steps.filter((step) => Math.floor((step - 1) / 2 ** bit) % 2 === 1).length / steps.length;
    expect(share, `bit ${bit}`).toBeGreaterThan(0.4);
    expect(share, `bit ${bit}`).toBeLessThan(0.6);
  }
  // Within one window, 2^16 ends differ.
  const { newRequestId } = createIds();
  const ends = new Set(Array.from({ length: 40_000 }, () => newRequestId(START_MS).slice(-8)));
  expect(ends.size).toBeGreaterThan(29_000);
  expect(ends.size).toBeLessThan(31_000);
});

test('ids of several replicas at the same time are unique', () => {
  const replicas = Array.from({ length: 20 }, createIds);
  const created = Array.from({ length: 100_000 }, (_, n) =>
    replicas[n % 20]?.newRequestId(START_MS + Math.floor(n / 2_000)),
  );
  expect(new Set(created).size).toBe(created.length);
});

test('registration ids are unique', () => {
  const { newRegistration } = createIds();
  const created = Array.from({ length: 1_000 }, newRegistration);
  expect(new Set(created).size).toBe(created.length);
});
