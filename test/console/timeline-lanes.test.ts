/** What a timeline draws of a task's history: lanes, bars, marks, phases and the rows of its table. */
import { describe, expect, test } from 'vitest';
import { checkEnding, chooseWorst, describeEvent } from '../../server/console/timeline/event-kinds.ts';
import { listEventRows } from '../../server/console/timeline/event-rows.ts';
import { placeBarLabels, placeMarkLabels } from '../../server/console/timeline/labels.ts';
import { drawHistory, groupMarks, type HistoryEntry } from '../../server/console/timeline/lanes.ts';
import { createScale } from '../../server/console/timeline/scale.ts';

const T0 = 1_795_306_000;

/** An entry; `at` is seconds since the submission. */
function entry(event: string, at: number, more: Partial<HistoryEntry> = {}): HistoryEntry {
  const time = T0 + at;
  return { time, event, agent_id: null, detail: null, count: 1, last_time: time, ...more };
}

const on = (agent_id: string, detail: string | null = null) => ({ agent_id, detail });

/** Labels of the only lane of a history, 600 px wide: of its bars, and of its marks. */
function labelsOf(history: readonly HistoryEntry[], end: number, isOpen = false) {
  const drawing = drawHistory(history, T0 + end, null);
  const { lanes } = drawing;
  const scale = createScale(end, drawing, 600);
  const [lane] = lanes;
  const groups = groupMarks(lane?.marks ?? [], scale.toPx);
  const bars = placeBarLabels(lane?.bars ?? [], groups, scale, isOpen ? drawing.end : null);
  const marks = [...placeMarkLabels(groups, bars, scale)].map(([{ px }, { text, anchor }]) => {
    const widthPx = text.length * 6;
    return { text, from: anchor === 'start' ? px + 9 : px - 9 - widthPx, widthPx };
  });
  return { bars, marks };
}

describe('labels', () => {
  const progress = (at: number, percent: number) => entry('progress', at, on('a', `${percent} %`));
  const started = [entry('submitted', 0), entry('assigned', 0, on('a')), entry('push_taken', 0.01, on('a'))];

  test('of marks are not drawn over each other nor over those of bars', () => {
    for (let at = 1; at < 13; at += 0.25) {
      const history = [...started, progress(at, 50), progress(at + 0.6, 60), entry('success', 13, on('a'))];
      const { bars, marks } = labelsOf(history, 13);
      const extents = [
        ...bars.map(({ x, widthPx }) => [x, x + widthPx] as const),
        ...marks.map(({ from, widthPx }) => [from, from + widthPx] as const),
      ].toSorted(([a], [b]) => a - b);
      for (const [index, [, to]] of extents.slice(0, -1).entries()) {
        expect(extents[index + 1]?.[0], `with progress at ${at} s`).toBeGreaterThanOrEqual(to);
      }
    }
    expect(labelsOf([...started, progress(6, 50), entry('success', 13, on('a'))], 13).marks).toHaveLength(1);
  });

  test('of progress that was reported several times stand at the last report alone', () => {
    const reported = { ...progress(2, 70), count: 5, last_time: T0 + 8 };
    const { marks } = labelsOf([...started, reported, entry('success', 12, on('a'))], 12);
    expect(marks.map(({ text }) => text)).toEqual(['70 %']);
    expect(marks[0]?.from).toBeGreaterThan(300);
  });

  test('of an open bar are whole seconds, as ages are', () => {
    expect(labelsOf(started, 58.6, true).bars[0]?.text).toBe('ran 58 s');
    expect(labelsOf([...started, entry('success', 58.6, on('a'))], 58.6).bars[0]?.text).toBe('ran 59 s');
    expect(labelsOf(started.slice(0, 2), 43.2, true).bars[0]?.text).toBe('not taken for 43 s');
  });
});

const MOVED = [
  entry('submitted', 0),
  entry('assigned', 0.002, on('b')),
  entry('push_not_taken', 0.005, { ...on('b'), count: 4, last_time: T0 + 7.893 }),
  entry('moved', 14.928, on('c', 'from b')),
  entry('push_taken', 14.971, on('c', '202, 41 ms')),
  entry('acknowledged', 15.33, on('c')),
  entry('progress', 77.418, on('c', '60 %')),
  entry('success', 118.402, on('c')),
];

describe('lanes', () => {
  test('of a task that moved: an agent each, not taken and then run', () => {
    const { lanes, phases, end } = drawHistory(MOVED, T0 + 118.402, null);
    expect(lanes.map(({ agent_id }) => agent_id)).toEqual(['b', 'c']);
    expect(lanes[0]?.bars).toEqual([expect.objectContaining({ kind: 'bad', attempts: 4 })]);
    expect(lanes[0]?.bars[0]?.from).toBeCloseTo(0.002);
    expect(lanes[0]?.bars[0]?.to).toBeCloseTo(14.928);
    expect(lanes[1]?.bars).toEqual([expect.objectContaining({ kind: 'run', attempts: 0 })]);
    expect(phases.wait).toBeCloseTo(0.002);
    expect(phases.bad).toBeCloseTo(14.926);
    expect(phases.run).toBeCloseTo(103.474);
    expect(end).toBeCloseTo(118.402);
    // The submission stands in the first agent's lane: 2 ms have no lane of their own.
    expect(lanes[0]?.marks.map(({ entry: { event }, count }) => `${event} ${count}`)).toEqual([
      ...['submitted 1', 'assigned 1', 'push_not_taken 1', 'push_not_taken 3'],
    ]);
  });

  test('of a task that found no agent: one, without an agent', () => {
    const history = [entry('submitted', 0), entry('waiting', 0.004), entry('no_agent', 30.004)];
    const { lanes, phases } = drawHistory(history, T0 + 30.004, null);
    expect(lanes).toHaveLength(1);
    expect(lanes[0]).toMatchObject({ agent_id: null, bars: [{ from: 0, kind: 'wait' }] });
    expect(lanes[0]?.marks.map(({ entry: { event } }) => event)).toEqual([
      'submitted',
      'waiting',
      'no_agent',
    ]);
    expect(phases).toMatchObject({ bad: 0, run: 0 });
  });

  test('of a task that waited and then ran: first without an agent', () => {
    const history = [
      entry('submitted', 0),
      entry('waiting', 0.004),
      entry('assigned', 20, on('a')),
      entry('push_taken', 20.1, on('a')),
      entry('failed', 30, on('a')),
    ];
    const { lanes, phases } = drawHistory(history, T0 + 30, null);
    expect(lanes.map(({ agent_id }) => agent_id)).toEqual([null, 'a']);
    expect(phases).toEqual({ wait: 20, bad: 0, run: 10, silent: 0 });
  });

  test('of a task that its agent never took: not taken, unless it reported a result', () => {
    const history = [entry('submitted', 0), entry('assigned', 0, on('a'))];
    const kindsOf = (ending: string) =>
      drawHistory([...history, entry(ending, 9, on('a'))], T0 + 9, null).lanes[0]?.bars.map(
        ({ kind }) => kind,
      );
    expect(drawHistory(history, T0 + 9, null).phases).toEqual({ wait: 0, bad: 9, run: 0, silent: 0 });
    expect([kindsOf('timeout'), kindsOf('success')]).toEqual([['bad'], ['run']]);
  });

  test('of a task that was taken after some attempts: both bars in one lane', () => {
    const history = [
      entry('submitted', 0),
      entry('assigned', 0, on('a')),
      entry('push_not_taken', 0.1, on('a')),
      entry('push_taken', 4, on('a')),
    ];
    const { lanes, phases } = drawHistory(history, T0 + 10, null);
    expect(lanes).toHaveLength(1);
    expect(lanes[0]?.bars.map(({ kind, from, to }) => [kind, from, to])).toEqual([
      ['bad', 0, 4],
      ['run', 4, 10],
    ]);
    expect(phases.run).toBe(6);
  });

  test('of a task whose agent was lost: it ran to the last contact, then the agent was silent', () => {
    const history = [
      entry('submitted', 0),
      entry('assigned', 0, on('a')),
      entry('push_taken', 0.1, on('a')),
      entry('agent_lost', 90, on('a', 'no contact for 60 s')),
    ];
    const { lanes, phases } = drawHistory(history, T0 + 90, T0 + 30);
    expect(lanes.map(({ bars }) => bars.map(({ kind, from, to }) => [kind, from, to]))).toEqual([
      [
        ['run', 0, 30],
        ['silent', 30, 90],
      ],
    ]);
    expect(phases).toEqual({ wait: 0, bad: 0, run: 30, silent: 60 });
    const sinceBefore = drawHistory(history, T0 + 90, T0 - 5);
    expect(sinceBefore.phases).toEqual({ wait: 0, bad: 0, run: 0, silent: 90 });
  });

  test('of a task that returns to an agent: one lane with two bars', () => {
    const history = [
      entry('submitted', 0),
      entry('assigned', 0, on('a')),
      entry('push_not_taken', 1, on('a')),
      entry('moved', 10, on('b', 'from a')),
      entry('push_not_taken', 11, on('b')),
      entry('moved', 20, on('a', 'from b')),
      entry('push_taken', 21, on('a')),
    ];
    const { lanes } = drawHistory(history, T0 + 30, null);
    expect(lanes.map(({ agent_id, bars }) => [agent_id, bars.map(({ kind }) => kind)])).toEqual([
      ['a', ['bad', 'run']],
      ['b', ['bad']],
    ]);
  });

  test('of a task older than its history: what is there', () => {
    const history = [entry('submitted', 0), entry('success', 9, on('a'))];
    const { lanes, phases } = drawHistory(history, T0 + 9, null);
    expect(lanes.map(({ agent_id }) => agent_id)).toEqual([null]);
    expect(phases.run).toBe(0);
  });

  test('of a question and its answer: marks with words for each', () => {
    expect(describeEvent('asked')).toMatchObject({ title: 'Asked a question', tone: 'wait' });
    expect(describeEvent('answered')).toMatchObject({ title: 'Answered' });
  });

  test('of an event of a later gateway: a mark in the present lane', () => {
    const history = [entry('submitted', 0), entry('assigned', 0, on('a')), entry('napped', 5, on('a'))];
    const { lanes } = drawHistory(history, T0 + 9, null);
    expect(lanes[0]?.marks.at(-1)?.entry.event).toBe('napped');
    expect(describeEvent('napped')).toMatchObject({ title: 'napped', tone: 'ink' });
    expect(describeEvent('toString')).toMatchObject({ title: 'toString' });
  });
});

describe('marks', () => {
  const marks = (...times: readonly (readonly [number, string])[]) =>
    times.map(([at, event]) => ({ at, entry: entry(event, at), count: 1, detail: null }));

  test('nearer than 11 px are one with a count, in the worst colour', () => {
    const groups = groupMarks(
      marks([0, 'submitted'], [5, 'push_not_taken'], [10.9, 'push_taken'], [11, 'success']),
      (seconds) => seconds,
    );
    expect(groups.map(({ count, tone }) => [count, tone])).toEqual([
      [3, 'bad'],
      [1, 'ok'],
    ]);
  });

  test('are measured from the first of a group, so that a row of them does not join all', () => {
    const row = marks(...[0, 8, 16, 24].map((at) => [at, 'progress'] as const));
    expect(groupMarks(row, (seconds) => seconds).map(({ count }) => count)).toEqual([2, 2]);
  });

  test.each([
    [['ink', 'run', 'wait'], 'wait'],
    [['ok', 'bad'], 'bad'],
    [['ok', 'idle'], 'ok'],
    [[], 'ink'],
  ] as const)('of %j: %s', (tones, worst) => {
    expect(chooseWorst(tones)).toBe(worst);
  });

  test('only outcomes end a task', () => {
    expect(['success', 'no_agent', 'moved', 'progress'].map(checkEnding)).toEqual([true, true, false, false]);
  });
});

describe('the rows of the table', () => {
  test('have the offset from the submission and the gap to the row above', () => {
    const rows = listEventRows(MOVED, 0);
    expect(rows.map((row) => (row.kind === 'event' ? row.entry.event : row.kind))).toEqual(
      MOVED.map(({ event }) => event),
    );
    const moved = rows[3];
    if (moved?.kind !== 'event') throw new Error('The fourth row is the move.');
    expect(moved.offset).toBeCloseTo(14.928);
    // From the last of the attempts, not from the first.
    expect(moved.gap).toBeCloseTo(14.928 - 7.893);
    expect(rows[0]).toMatchObject({ offset: 0, gap: null });
  });

  test('four equal neighbours are one row, whatever each took; three are not', () => {
    const attempts = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        entry('push_not_taken', index + 1, on('a', `HTTP 503, ${index} ms`)),
      );
    const counts = (entries: readonly HistoryEntry[]) => listEventRows(entries, 0).map((row) => row.count);
    expect(counts([entry('submitted', 0), ...attempts(4)])).toEqual([1, 4]);
    expect(counts([entry('submitted', 0), ...attempts(3)])).toEqual([1, 1, 1, 1]);
    expect(counts([...attempts(3), entry('push_not_taken', 9, on('b', 'HTTP 503, 1 ms'))])).toHaveLength(4);
    const folded = { ...on('a', 'HTTP 503, 1 ms'), count: 36, last_time: T0 + 90 };
    expect(counts([entry('submitted', 0), entry('push_not_taken', 1, folded)])).toEqual([1, 36]);
  });

  test('what is not kept is a row in the middle, and no gap is counted across it', () => {
    const history = Array.from({ length: 16 }, (_, index) => entry(index % 2 ? 'moved' : 'assigned', index));
    const rows = listEventRows(history, 12);
    expect(rows).toHaveLength(17);
    expect(rows[8]).toEqual({ kind: 'dropped', count: 12 });
    expect(rows[9]).toMatchObject({ kind: 'event', gap: null, offset: 8 });
  });
});
