/** The buttons above the list of tasks: what a filter shows, what a press makes of it, and the counts. */
import { describe, expect, test } from 'vitest';
import { canGroup, isGrouped } from '../../server/console/pages/tasks/causes.tsx';
import {
  countSegment,
  readSegments,
  type TaskSegment,
  toggleSegment,
} from '../../server/console/pages/tasks/task-segments.ts';
import { describeTotal } from '../../server/console/pages/tasks/total-words.ts';
import { readTokens, TASK_KEYS, writeTokens } from '../../server/console/routing/filter.ts';

const ALL: readonly TaskSegment[] = ['waiting', 'running', 'success', 'failed', 'no_agent', 'cancelled'];
const FAILED = 'outcome=failed,timeout,agent_lost';
const tokensOf = (search: string) => readTokens(search, TASK_KEYS);

test.each<[string, readonly TaskSegment[]]>([
  ['', ALL],
  ['?waiting=true', ['waiting']],
  ['?waiting=false', ['running', 'success', 'failed', 'no_agent', 'cancelled']],
  ['?status=pending', ['waiting']],
  ['?status=running&waiting=false', ['running']],
  ['?status=pending,running', ['waiting', 'running']],
  ['?status=failed', ['failed', 'no_agent', 'cancelled']],
  ['?outcome=cancelled', ['cancelled']],
  ['?outcome=no_agent', ['no_agent']],
  ['?outcome=timeout', ['failed']],
  ['?outcome=success&waiting=true', []],
  ['?waiting_for_answer=true', ['running']],
  ['?waiting_for_answer=true&status=failed', []],
  ['?waiting_for_answer=false', ALL],
])('The filter %j shows %j.', (search, shown) => {
  expect(readSegments(tokensOf(search))).toEqual(shown);
});

test.each<[string, TaskSegment, string]>([
  ['', 'waiting', '?waiting=true'],
  ['', 'running', '?status=running&waiting=false'],
  ['', 'success', '?status=success'],
  ['', 'failed', `?${FAILED}`],
  ['?tag=gpu', 'cancelled', '?tag=gpu&outcome=cancelled'],
  ['?waiting=true', 'waiting', ''],
  ['?waiting=true', 'running', '?status=pending,running'],
  ['?status=running&waiting=false', 'waiting', '?status=pending,running'],
  ['?outcome=cancelled', 'failed', '?outcome=failed,timeout,agent_lost,cancelled'],
  ['?outcome=no_agent,cancelled', 'failed', '?status=failed'],
  ['', 'no_agent', '?outcome=no_agent'],
  ['?status=success,failed', 'cancelled', '?outcome=success,failed,timeout,agent_lost,no_agent'],
  ['?waiting_for_answer=true', 'running', ''],
  ['?waiting_for_answer=true', 'success', '?status=running,success&waiting=false'],
  // No filter shows these two together.
  ['?waiting=true', 'failed', `?${FAILED}`],
  [`?${FAILED}`, 'waiting', '?waiting=true'],
  ['?status=pending,running,failed', 'running', '?status=failed'],
])('From %j a press on %s leads to %j.', (search, pressed, expected) => {
  expect(writeTokens(toggleSegment(tokensOf(search), pressed), TASK_KEYS)).toBe(expected);
});

test('What a press shows is what its button then says.', () => {
  for (const name of ALL) expect(readSegments(toggleSegment([], name))).toEqual([name]);
});

test('Failed tasks are grouped by cause where groups can have the filter, and the window of the groups.', () => {
  const offered = (more: string) => canGroup(tokensOf(`?${FAILED}${more}`));
  expect(['', '&type=a&agent=b', '&ended=15m', '&since=1h', '&ended=1h'].map(offered)).toEqual(
    Array(5).fill(true),
  );
  expect(['&tag=gpu', '&session=s', '&id=12345678', '&error=e'].map(offered)).toEqual(Array(4).fill(false));
  const grouped = (more: string) => isGrouped(tokensOf(`?outcome=timeout${more}`));
  expect(['&ended=15m', '', '&ended=1h', '&ended=15m&since=1h', '&ended=15m&tag=gpu'].map(grouped)).toEqual([
    ...[true, false, false, false, false],
  ]);
});

describe('counts', () => {
  const counts = {
    waiting: 11,
    by_status: { pending: 9, running: 14, success: 5, failed: 7 },
    by_outcome: { no_agent: 1, cancelled: 3 },
  };

  test('each task is counted once', () => {
    expect(ALL.map((name) => countSegment(counts, name))).toEqual([11, 12, 5, 3, 1, 3]);
  });

  test.each([
    [{ total: 60, complete: true }, true, '60 tasks match'],
    [{ total: 1, complete: true }, true, '1 task matches'],
    [{ total: 0, complete: true }, true, 'No task matches'],
    [{ total: 1_000, complete: false }, true, '1,000+ tasks match'],
    [{ total: 1_204, complete: true }, false, '1,204 tasks are kept'],
    [{ total: 0, complete: true }, false, 'No task is kept'],
  ])('%j (filter: %s): %s', (total, hasFilter, words) => {
    expect(describeTotal(total, hasFilter)).toBe(words);
  });
});
