/** What a history records of each step, and how it is folded and kept short. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AwaitedAcknowledgement,
  addHistory,
  describeHistory,
  outcomeOf,
} from '../../server/domain/history.ts';
import { step } from '../../server/domain/step.ts';
import { createTaskState, isSettled, type TaskState } from '../../server/domain/task.ts';
import type { Trigger } from '../../server/domain/triggers.ts';

const T0 = 1_000_000;
const input = {
  request_id: 'r1',
  task_type: 't',
  task_tags: ['gpu'],
  payload: {},
  cli_session_id: 's',
  create_time: T0 / 1_000,
  timeout: 60,
};
const fresh = createTaskState(input, { createdMs: T0, deadlineMs: T0 + 60_000, queueEndMs: null }, 16);

type Timed = readonly [ms: number, trigger: Trigger, awaited?: AwaitedAcknowledgement];

/** The state after these steps; one that is refused or makes no difference is left out. */
function run(timed: readonly Timed[], from: TaskState = fresh): TaskState {
  return timed.reduce((state, [ms, trigger, awaited]) => {
    const decided = step(state, trigger, T0 + ms);
    if (!decided.ok || decided.state === state) return state;
    return addHistory(state, decided.state, trigger, T0 + ms, awaited ?? null);
  }, from);
}

/** An entry as one text: `assigned A 5`, `push_not_taken A 1..9 ×3 (refused, 2 ms)`. */
const texts = (state: TaskState): readonly string[] =>
  describeHistory(state).map(({ event, agent_id, time, last_time, count, detail }) => {
    const at = (seconds: number): number => Math.round(seconds * 1_000 - T0);
    const when = count > 1 ? `${at(time)}..${at(last_time)} ×${count}` : String(at(time));
    return [event, agent_id, when, detail === null ? null : `(${detail})`]
      .filter((one) => one !== null)
      .join(' ');
  });

const assign = (agent_id: string): Trigger => ({ type: 'assign', agent_id, attempted: true, nextMs: T0 });
const attempt: Trigger = { type: 'attempt', pull: false, nextMs: T0 };
const untaken = (agent_id: string, number: number, ms: number): Trigger => ({
  type: 'untaken',
  agent_id,
  attempt: number,
  nextMs: T0,
  busyUntilMs: null,
  push: { ms: T0 + ms, what: 'refused', tookMs: 2 },
});
const unknown = (agent_id: string, number: number, ms: number): Trigger => ({
  type: 'unknown',
  agent_id,
  attempt: number,
  nextMs: T0,
  push: { ms: T0 + ms, what: 'answered 500', tookMs: 7 },
});
const taken = (agent_id: string, number: number, ms: number): AwaitedAcknowledgement => ({
  agent_id,
  attempt: number,
  ms: T0 + ms,
  what: '202',
  tookMs: 3,
});
const succeed = (agent_id: string): Trigger => ({ type: 'succeed', agent_id, result: null });

const ROWS: readonly (readonly [name: string, steps: readonly Timed[], expected: readonly string[]])[] = [
  ['nothing but its submission', [], ['submitted 0']],
  [
    'a usual task, whose acknowledgement still waited',
    [
      [5, assign('A')],
      [30, succeed('A'), taken('A', 1, 20)],
    ],
    ['submitted 0', 'assigned A 5', 'push_taken A 20 (202, 3 ms)', 'success A 30'],
  ],
  [
    'an acknowledgement of its own commit',
    [
      [5, assign('A')],
      [9, { type: 'acknowledge', agent_id: 'A', attempt: 1, push: { ms: T0 + 8, what: '202', tookMs: 3 } }],
      [30, { type: 'fail', agent_id: 'A', error_info: 'x', progress: null }],
    ],
    ['submitted 0', 'assigned A 5', 'push_taken A 8 (202, 3 ms)', 'failed A 30'],
  ],
  [
    'an acknowledgement of another agent or a disowned attempt is not this one',
    [
      [5, assign('A')],
      [8, { type: 'disown', agent_id: 'A', attempts: 1 }],
      [30, { type: 'cancel' }, taken('A', 1, 20)],
    ],
    ['submitted 0', 'assigned A 5', 'offered_again A 8', 'cancelled A 30'],
  ],
  [
    'equal attempts are one entry, and its time and count say of which',
    [
      [5, assign('A')],
      [10, untaken('A', 1, 10)],
      [20, attempt],
      [21, untaken('A', 2, 21)],
      [30, attempt],
      [31, untaken('A', 3, 31)],
      [32, attempt],
      [33, unknown('A', 4, 33)],
      [40, { type: 'wait' }],
      [50, { type: 'reassign', agent_id: 'B', attempted: true, nextMs: T0, agentGone: true }],
      [60, { type: 'lose', seconds: 60 }],
    ],
    [
      ...['submitted 0', 'assigned A 5', 'push_not_taken A 10..31 ×3 (refused, 2 ms)'],
      ...['push_unknown A 33 (answered 500, 7 ms)', 'waiting A 40 (for another agent)'],
      ...['moved B 50 (from A)', 'agent_lost B 60 (no contact for 60 s)'],
    ],
  ],
  [
    'progress in a row as one entry with the last report, and that the agent has it',
    [
      [5, { type: 'assign', agent_id: 'A', attempted: false, nextMs: T0 }],
      [6, { type: 'attempt', pull: true, nextMs: T0 }],
      [7, { type: 'progress', agent_id: 'A', progress: 10, reply: null }],
      [8, { type: 'progress', agent_id: 'A', progress: 60, reply: null }],
      [9, { type: 'expire' }],
    ],
    [
      'submitted 0',
      'assigned A 5',
      'claimed A 6',
      'acknowledged A 7',
      'progress A 7..8 ×2 (60 %)',
      'timeout A 9',
    ],
  ],
  [
    'of progress before something else no entry, once there is more',
    [
      [5, assign('A')],
      [7, { type: 'progress', agent_id: 'A', progress: 10, reply: null }],
      [8, { type: 'disown', agent_id: 'A', attempts: 1 }],
      [9, { type: 'progress', agent_id: 'A', progress: 20, reply: null }],
    ],
    [
      ...['submitted 0', 'assigned A 5', 'acknowledged A 7', 'offered_again A 8', 'acknowledged A 9'],
      'progress A 9 (20 %)',
    ],
  ],
  [
    'a wait in vain',
    [
      [1, { type: 'wait' }],
      [9, { type: 'abandon' }],
    ],
    ['submitted 0', 'waiting 1', 'no_agent 9'],
  ],
  [
    'a time that is before the last entry is that of the last entry',
    [
      [50, assign('A')],
      [40, succeed('A'), taken('A', 1, 30)],
    ],
    ['submitted 0', 'assigned A 50', 'push_taken A 50 (202, 3 ms)', 'success A 50'],
  ],
];

describe('a history has', () => {
  test.each(ROWS)('%s', (_name, steps, expected) => {
    expect(texts(run(steps))).toEqual(expected);
  });

  test('at most sixteen entries, the first eight and the last eight, and a count of the others', () => {
    const steps = Array.from({ length: 20 }, (_, n): readonly Timed[] => [
      [n * 10, untaken('A', n + 1, n * 10)],
      [n * 10 + 1, { type: 'wait' }],
      [n * 10 + 2, attempt],
    ]).flat();
    const state = run([[0, assign('A')], ...steps, [900, { type: 'cancel' }]]);
    const all = 1 + 1 + 40 + 1;
    expect(describeHistory(state)).toHaveLength(16);
    expect(state.historyDropped).toBe(all - 16);
    const all16 = texts(state).map((text) => text.replace(/ \(.*/, ''));
    expect(all16.slice(0, 8)).toEqual([
      ...['submitted 0', 'assigned A 0', 'push_not_taken A 0', 'waiting A 1', 'push_not_taken A 10'],
      ...['waiting A 11', 'push_not_taken A 20', 'waiting A 21'],
    ]);
    expect(all16.slice(8)).toEqual([
      ...['waiting A 161', 'push_not_taken A 170', 'waiting A 171', 'push_not_taken A 180', 'waiting A 181'],
      ...['push_not_taken A 190', 'waiting A 191', 'cancelled A 900'],
    ]);
  });
});

/** Any trigger from or about two agents. */
const anyTrigger = fc.oneof(
  ...['A', 'B'].flatMap((agent_id): fc.Arbitrary<Trigger>[] => [
    fc.constant(assign(agent_id)),
    fc.constant<Trigger>({ type: 'reassign', agent_id, attempted: true, nextMs: T0, agentGone: true }),
    fc.nat(6).map((n) => untaken(agent_id, n, n)),
    fc.nat(6).map((n) => unknown(agent_id, n, n)),
    fc.constant<Trigger>({ type: 'acknowledge', agent_id, attempt: null }),
    fc.constant<Trigger>({ type: 'disown', agent_id, attempts: 1 }),
    fc.nat(99).map((progress): Trigger => ({ type: 'progress', agent_id, progress, reply: null })),
    fc.constant(succeed(agent_id)),
  ]),
  fc.constantFrom<Trigger[]>(
    attempt,
    { type: 'wait' },
    { type: 'stay' },
    { type: 'cancel' },
    { type: 'expire' },
  ),
);

test('whatever happens, times never fall, the ending is the outcome and there are sixteen entries at most', () => {
  const timed = fc
    .tuple(fc.nat(500), anyTrigger, fc.nat(500))
    .map(([ms, trigger, takenMs]): Timed => [ms, trigger, taken('A', 1, takenMs)]);
  fc.assert(
    fc.property(fc.array(timed, { minLength: 20, maxLength: 60 }), (steps) => {
      const state = run(steps);
      const history = describeHistory(state);
      expect(history.length).toBeLessThanOrEqual(16);
      const times = history.flatMap(({ time, last_time }) => [time, last_time]);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(history[0]?.event).toBe('submitted');
      expect(outcomeOf(state)).toBe(isSettled(state) ? history.at(-1)?.event : null);
      expect(history.filter(({ event }) => event === 'progress').length).toBeLessThanOrEqual(1);
      // Each agent that it was assigned to is there, unless its entry was dropped.
      if (state.historyDropped === undefined) {
        const named = new Set(history.map(({ agent_id }) => agent_id));
        for (const agent_id of state.assignees) expect(named).toContain(agent_id);
      }
    }),
    { numRuns: 500 },
  );
});
