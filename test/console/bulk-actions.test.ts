/** Actions on many tasks: what is said before, the calls with progress and stop, what is said behind. */
import { describe, expect, test } from 'vitest';
import {
  type CancelPage,
  cancelPages,
  countChosen,
  countMatching,
  countOpen,
  describeCancel,
  describeCancelled,
  submitEach,
} from '../../server/console/pages/tasks/bulk.ts';
import {
  NO_SELECTION,
  selectRange,
  selectWhole,
  togglePage,
  toggleRow,
} from '../../server/console/pages/tasks/row-selection.ts';

const COUNTS = {
  time: 1,
  total: 60,
  complete: true,
  waiting: 11,
  waiting_for_answer: 3,
  by_status: { pending: 9, running: 14, success: 1_022, failed: 37 },
};

describe('before', () => {
  test('of all that match a filter', () => {
    const counts = countMatching(COUNTS, { status: ['pending', 'running', 'failed'] });
    expect(counts).toEqual({ total: 60, waiting: 11, running: 12, ended: 37, complete: true });
    expect(countOpen(counts)).toBe(23);
    expect(describeCancel(counts, true)).toBe(
      '60 tasks match. 23 are open: 11 wait and 12 run. They end as `cancelled by user`, and their clients ' +
        'receive the event. 37 have ended already and stay as they are.',
    );
  });

  test.each([
    [{ waiting: true }, { waiting: 11, running: 0 }],
    [{ waiting: false }, { waiting: 0, running: 12 }],
    [
      { status: ['running'], waiting: false },
      { waiting: 0, running: 12 },
    ],
    // Two of these were assigned to an agent that did not take them, and wait for another one.
    [{ status: ['running'] }, { waiting: 2, running: 12 }],
    [{ status: ['pending'] }, { waiting: 9, running: 0 }],
    [{}, { waiting: 11, running: 12 }],
    [{ waiting_for_answer: true }, { waiting: 0, running: 3 }],
    [{ waiting_for_answer: false }, { waiting: 11, running: 9 }],
  ])('of the filter %j', (filter, expected) => {
    expect(countMatching(COUNTS, filter)).toMatchObject(expected);
  });

  test('of a filter on an outcome: none is open', () => {
    expect(countMatching({ ...COUNTS, total: 11 }, { outcome: ['failed'] })).toMatchObject({
      waiting: 0,
      running: 0,
      ended: 11,
    });
  });

  test('of a count that looked at some only: at least so many', () => {
    const counts = countMatching({ ...COUNTS, total: 0, complete: false }, { waiting: true });
    expect(describeCancel(counts, true)).toMatch(
      /^At least 11 tasks match\. 11 are open: 11 wait\. They end/,
    );
  });

  test('of a filter whose tasks a dry run has counted: its number, without the parts of another', () => {
    const counts = countMatching({ ...COUNTS, total: 9, complete: false }, { status: ['pending'] });
    expect(describeCancel(counts, true, 2_300)).toMatch(
      /^At least 2,300 tasks match\. 2,300 are open\. They end as/,
    );
    expect(describeCancel(counts, true, 0)).toBe('At least 9 tasks match. 0 are open.');
  });

  test('of one task', () => {
    const counts = countChosen([{ request_id: 'a', status: 'running', waiting: false }]);
    expect(describeCancel(counts, false)).toBe(
      '1 task is selected. 1 is open: 1 runs. It ends as `cancelled by user`, and its client receives the event.',
    );
  });
});

const page = (cancelled: number, next_cursor: string | null, already_ended = 0): CancelPage => ({
  cancelled,
  already_ended,
  not_found: 0,
  next_cursor,
});

describe('cancelling in pages', () => {
  test('goes on with each cursor, and adds up', async () => {
    const cursors: (string | null)[] = [];
    const pages = [page(10, 'a', 1), page(0, 'b', 3), page(9, null)];
    const seen: number[] = [];
    const end = await cancelPages(
      async (cursor) => {
        cursors.push(cursor);
        return pages.shift() ?? page(0, null);
      },
      new AbortController().signal,
      ({ cancelled }) => seen.push(cancelled),
    );
    expect(cursors).toEqual([null, 'a', 'b']);
    expect(seen).toEqual([10, 10, 19]);
    expect(describeCancelled(end)).toBe('19 cancelled, 4 had ended already.');
  });

  test('stops between two pages', async () => {
    const stopping = new AbortController();
    const end = await cancelPages(
      async () => page(5, 'more'),
      stopping.signal,
      ({ cancelled }) => cancelled >= 10 && stopping.abort(),
    );
    expect(end).toMatchObject({ kind: 'stopped', totals: { cancelled: 10 } });
    expect(describeCancelled(end)).toBe('Stopped: 10 cancelled.');
  });

  test('keeps what was done when a page fails', async () => {
    const error = new Error('down');
    let calls = 0;
    const end = await cancelPages(
      async () => {
        calls += 1;
        if (calls === 2) throw error;
        return page(5, 'more');
      },
      new AbortController().signal,
      () => {},
    );
    expect(end).toEqual({ kind: 'failed', totals: { cancelled: 5, already_ended: 0, not_found: 0 }, error });
    expect(describeCancelled(end)).toBe('Not finished: 5 cancelled.');
  });
});

describe('submitting again', () => {
  test('goes on where one fails', async () => {
    const error = new Error('refused');
    const end = await submitEach(
      ['a', 'b', 'c'],
      async (id) => {
        if (id === 'b') throw error;
      },
      new AbortController().signal,
      () => {},
    );
    expect(end).toEqual({ kind: 'failed', totals: { submitted: 2, failed: 1 }, error });
  });

  test('stops before the next one', async () => {
    const stopping = new AbortController();
    const end = await submitEach(
      ['a', 'b'],
      async () => {},
      stopping.signal,
      () => stopping.abort(),
    );
    expect(end).toEqual({ kind: 'stopped', totals: { submitted: 1, failed: 0 } });
  });
});

describe('the selection', () => {
  const shown = ['a', 'b', 'c', 'd', 'e'];
  const idsOf = ({ ids }: { readonly ids: ReadonlySet<string> }): string => [...ids].sort().join('');

  test('one by one, and off again', () => {
    const two = toggleRow(toggleRow(NO_SELECTION, 'a'), 'c');
    expect(idsOf(two)).toBe('ac');
    expect(idsOf(toggleRow(two, 'a'))).toBe('c');
  });

  test('a range from the row toggled last, both ways', () => {
    expect(idsOf(selectRange(toggleRow(NO_SELECTION, 'b'), 'd', shown))).toBe('bcd');
    expect(idsOf(selectRange(toggleRow(NO_SELECTION, 'd'), 'b', shown))).toBe('bcd');
    expect(idsOf(selectRange(NO_SELECTION, 'c', shown))).toBe('c');
  });

  test('the page, and off again', () => {
    const all = togglePage(toggleRow(NO_SELECTION, 'b'), shown);
    expect(idsOf(all)).toBe('abcde');
    expect(idsOf(togglePage(all, shown))).toBe('');
  });

  test('all that match, until one is toggled', () => {
    const whole = selectWhole(shown);
    expect(whole.isWhole).toBe(true);
    expect(toggleRow(whole, 'a')).toMatchObject({ isWhole: false });
  });
});
