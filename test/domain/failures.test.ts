/** Failures by cause: which tasks count, which errors are one, since when, and that no text folds slowly. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { STEP_MS } from '../../server/domain/activity.ts';
import type { EndedTask } from '../../server/domain/ended-task.ts';
import { foldError, groupFailures, windowStartMs } from '../../server/domain/failures.ts';

const NOW_MS = 1_763_611_420_000;
const ENDED_MAX = 500;

let ids = 0;
function end(secondsAgo: number, more: Partial<EndedTask> = {}): EndedTask {
  ids += 1;
  return {
    request_id: `task-${ids}`,
    endedMs: NOW_MS - secondsAgo * 1_000,
    outcome: 'failed',
    type: 'render',
    agent_id: 'a',
    error: 'broken',
    ...more,
  };
}

const group = (...ended: readonly EndedTask[]) =>
  groupFailures(
    ended.toSorted((a, b) => b.endedMs - a.endedMs),
    NOW_MS,
    ENDED_MAX,
  );

describe('errors that differ in numbers and ids alone are one', () => {
  test.each([
    ['timed out after 12000 ms', 'timed out after 950.5 ms'],
    ['took 1,240 ms', 'took 7 ms'],
    ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED 10.0.11.23:80'],
    ['no row 019a9f6e-39c4-7b12-9c05-6a7de1f0842b', 'no row deadbeef-dead-beef-dead-beefdeadbeef'],
    ['commit a1b2c3d is gone', 'commit 00fe99 is gone'],
    ['no object 01J9ZQ8XKTV4M3N5B6C7D8E9F0', 'no object 01J9ZQ8XKTV4M3N5B6C7D8EAAA'],
    ['at 0x7ffeefbff4c8', 'at 0x10ff'],
    ['3 of 7', '12 of 7'],
  ])('%s', (one, other) => {
    expect(foldError(one)).toBe(foldError(other));
    expect(foldError(one)).toContain('#');
  });

  test.each([
    ['no space left', 'no space'],
    ['disk full', 'disk fall'],
    ['v2 refused', 'w2 refused'],
    ['deadbeef', 'facade'],
    ['1 error', 'an error'],
    ['Ende 日本 1', 'Ende 中国 1'],
  ])('but not %s and %s', (one, other) => {
    expect(foldError(one)).not.toBe(foldError(other));
  });

  test('an error without a digit stays as it is, and folding twice changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const folded = foldError(text);
        if (!/[0-9]/.test(text))
          expect(folded.replaceAll('#', '')).toBe(text.replaceAll('#', '').replace(UUIDS, ''));
        expect(folded).not.toMatch(/[0-9]/);
        expect(foldError(folded)).toBe(folded);
      }),
    );
  });

  test('any number in its place folds alike', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.nat(), (text, one, other) => {
        const around = text.replace(/\w/g, '');
        expect(foldError(`${around} ${one} ${around}`)).toBe(foldError(`${around} ${other} ${around}`));
      }),
    );
  });

  test.each([
    ['1a ', '#a '],
    ['deadbeef1-', '#-'],
    ['abcdef00-', '#-'],
    ['0000-', '#-'],
    ['.', '.'],
    ['a,', 'a,'],
  ])('in linear time, or this one ends by its timeout: %s', (piece, folded) => {
    const times = 1_000_000;
    expect(foldError(piece.repeat(times))).toBe(folded.repeat(times));
    expect(foldError('1.'.repeat(times))).toBe('#.');
    expect(foldError('a'.repeat(times))).toBe('a'.repeat(times));
  });
});

const UUIDS = /[a-f]{8}(-[a-f]{4}){3}-[a-f]{12}/gi;

test('tasks that were cancelled or found no agent count for nothing', () => {
  const { ended, failed, groups } = group(
    end(10),
    end(20, { outcome: 'cancelled' }),
    end(30, { outcome: 'no_agent', agent_id: null }),
    end(40, { outcome: 'success', error: null }),
    end(50, { outcome: 'timeout', error: 'not finished in 5 s' }),
    end(60, { outcome: 'agent_lost', error: 'no contact' }),
  );
  expect({ ended, failed }).toEqual({ ended: 4, failed: 3 });
  expect(groups.map(({ outcome, count, ended: all }) => [outcome, count, all])).toEqual([
    ['failed', 1, 4],
    ['timeout', 1, 4],
    ['agent_lost', 1, 4],
  ]);
});

test('a group has its count, its share, its first and last time and its last task', () => {
  const last = end(5, { error: 'timed out after 950 ms' });
  const { groups } = group(
    end(100, { error: 'timed out after 12000 ms' }),
    last,
    end(50, { agent_id: 'b', error: 'timed out after 1 ms' }),
    end(40, { type: 'other', error: 'timed out after 1 ms' }),
    end(30, { outcome: 'success', error: null }),
  );
  expect(groups[0]).toEqual({
    type: 'render',
    agent_id: 'a',
    outcome: 'failed',
    error: 'timed out after 950 ms',
    count: 2,
    ended: 3,
    firstMs: NOW_MS - 100_000,
    lastMs: NOW_MS - 5_000,
    request_id: last.request_id,
  });
  expect(groups.map(({ type, agent_id }) => [type, agent_id])).toEqual([
    ['render', 'a'],
    ['other', 'a'],
    ['render', 'b'],
  ]);
});

test('the row of an agent ends at its last success', () => {
  const { tallies } = group(
    end(1),
    end(2),
    end(3, { outcome: 'success', error: null }),
    end(4),
    end(5, { agent_id: 'b', outcome: 'success', error: null }),
    end(6, { agent_id: 'b' }),
  );
  expect(tallies).toMatchObject([
    { agent_id: 'a', ended: 4, failed: 3, inRow: 2, sinceMs: NOW_MS - 2_000 },
    { agent_id: 'b', ended: 2, failed: 1, inRow: 0, sinceMs: NOW_MS - 6_000 },
  ]);
});

test('the window is that of the activity; what ended before is left out', () => {
  const startMs = windowStartMs(NOW_MS);
  expect(startMs % STEP_MS).toBe(0);
  expect(NOW_MS - startMs).toBeGreaterThan(14.5 * 60_000 - 1);
  expect(NOW_MS - startMs).toBeLessThanOrEqual(15 * 60_000);
  const secondsAgo = (NOW_MS - startMs) / 1_000;
  expect(group(end(secondsAgo), end(secondsAgo + 0.001))).toMatchObject({ failed: 1, sinceMs: null });
});

test('where the last 500 do not reach back so far, it says since when they do', () => {
  const all = Array.from({ length: ENDED_MAX }, (_, index) => end(index));
  expect(group(...all).sinceMs).toBe(NOW_MS - (ENDED_MAX - 1) * 1_000);
  expect(group(...all.slice(1)).sinceMs).toBeNull();
  const old = all.map((task, index) => (index === 499 ? { ...task, endedMs: NOW_MS - 3_600_000 } : task));
  expect(group(...old).sinceMs).toBeNull();
});
