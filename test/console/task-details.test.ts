/** What a task's page says beside its history, and when an event was stored. */
import { expect, test } from 'vitest';
import { readCursorTime } from '../../server/console/pages/events/event-list.ts';
import { addDetails } from '../../server/console/pages/task/event-details.ts';

test.each([
  ['submitted', null, { timeout: 600, queue_timeout: 30 }, 'timeout 600 s, queue_timeout 30 s'],
  ['submitted', null, { timeout: 600, queue_timeout: null }, 'timeout 600 s'],
  ['no_agent', null, { timeout: 600, queue_timeout: 30 }, 'queue_timeout of 30 s is over'],
  ['no_agent', null, { timeout: 600, queue_timeout: 0 }, 'it was not allowed to wait'],
  ['timeout', null, { timeout: 5, queue_timeout: null }, '5 s are over'],
  ['success', null, { timeout: 5, queue_timeout: null }, 'reported by the agent'],
  ['push_taken', '202, 18 ms', { timeout: 5, queue_timeout: null }, '202, 18 ms'],
  ['a later event', null, { timeout: 5, queue_timeout: null }, null],
])('%s with the detail %j is shown with %j', (event, detail, times, shown) => {
  const entry = { event, detail, time: 1, last_time: 1, count: 1, agent_id: null };
  expect(addDetails([entry], times)).toEqual([{ ...entry, detail: shown }]);
});

test.each([
  ['1795384691797-0', 1_795_384_691.797],
  ['1795384691797-12', 1_795_384_691.797],
  ['', null],
  ['opaque', null],
  ['1795384691797', null],
])('the cursor %j says %j', (cursor, time) => {
  expect(readCursorTime(cursor)).toBe(time);
});
