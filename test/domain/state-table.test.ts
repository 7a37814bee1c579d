/** The state table, as text: every state and every trigger, and what comes of it. */
import { describe, expect, test } from 'vitest';
import { step, type Trigger } from '../../server/domain/step.ts';
import { createTaskState, type TaskInput, type TaskState } from '../../server/domain/task.ts';

const NOW = 1_000_000;
const input: TaskInput = {
  request_id: 'r1',
  task_type: 'translate',
  task_tags: ['gpu'],
  payload: { text: '你好' },
  cli_session_id: 's1',
  create_time: NOW / 1_000,
  timeout: 60,
};

/** The states of the table's head, reached by the steps themselves. `A` is the present agent, `E` an earlier one. */
function buildStates(): Record<string, TaskState> {
  const pending = createTaskState(input, { createdMs: NOW, deadlineMs: NOW + 60_000, queueEndMs: null });
  const withE = advance(pending, { type: 'assign', agent_id: 'E', attempted: true, nextMs: NOW });
  const freed = advance(withE, {
    type: 'untaken',
    agent_id: 'E',
    attempt: 1,
    nextMs: NOW,
    busyUntilMs: null,
  });
  const running = advance(freed, {
    type: 'reassign',
    agent_id: 'A',
    attempted: true,
    nextMs: NOW,
    agentGone: false,
  });
  const untaken = advance(running, {
    type: 'untaken',
    agent_id: 'A',
    attempt: 1,
    nextMs: NOW + 1,
    busyUntilMs: null,
  });
  const acknowledged = advance(running, { type: 'acknowledge', agent_id: 'A', attempt: 1 });
  const disowned = advance(acknowledged, { type: 'disown', agent_id: 'A' });
  const success = advance(acknowledged, { type: 'succeed', agent_id: 'A', result: { output: '好' } });
  const failed = advance(running, { type: 'fail', agent_id: 'A', error_info: 'boom' });
  return { pending, running, untaken, acknowledged, disowned, success, failed };
}

function advance(state: TaskState, trigger: Trigger): TaskState {
  const done = step(state, trigger, NOW);
  if (!done.ok) throw new Error(`${trigger.type}: ${done.refusal}`);
  return done.state;
}

/** What changed, in a few words a reader can check against the rules. */
function tell(before: TaskState, trigger: Trigger): string {
  const done = step(before, trigger, NOW);
  if (!done.ok) return `refuse ${done.refusal}`;
  const { status, agent_id, delivery, error_info, waiting, progress } = done.state;
  if (status === 'failed') return `failed ${agent_id ?? '-'}: ${error_info}`;
  if (status === 'success') return `success ${agent_id} ${progress} ${JSON.stringify(done.state.result)}`;
  const told = delivery
    ? ` ${agent_id} ${delivery.acknowledged ? 'acknowledged' : `${delivery.attempts}-${delivery.untaken}`}`
    : '';
  return `${status}${told}${waiting ? ' waiting' : ''}${progress > 0 ? ` ${progress}%` : ''}`;
}

const TRIGGERS: Record<string, Trigger> = {
  'assign B': { type: 'assign', agent_id: 'B', attempted: true, nextMs: NOW },
  wait: { type: 'wait' },
  stay: { type: 'stay' },
  attempt: { type: 'attempt', nextMs: NOW },
  'untaken A': { type: 'untaken', agent_id: 'A', attempt: 1, nextMs: NOW, busyUntilMs: null },
  'untaken E': { type: 'untaken', agent_id: 'E', attempt: 1, nextMs: NOW, busyUntilMs: null },
  'acknowledge A': { type: 'acknowledge', agent_id: 'A', attempt: 1 },
  'acknowledge A, named': { type: 'acknowledge', agent_id: 'A', attempt: null },
  'acknowledge E': { type: 'acknowledge', agent_id: 'E', attempt: 1 },
  'disown A': { type: 'disown', agent_id: 'A' },
  'reassign B': { type: 'reassign', agent_id: 'B', attempted: true, nextMs: NOW, agentGone: false },
  'reassign B, gone': { type: 'reassign', agent_id: 'B', attempted: true, nextMs: NOW, agentGone: true },
  'reassign A': { type: 'reassign', agent_id: 'A', attempted: true, nextMs: NOW, agentGone: true },
  'progress A': { type: 'progress', agent_id: 'A', progress: 40, reply: null },
  'progress E': { type: 'progress', agent_id: 'E', progress: 40, reply: null },
  'progress B': { type: 'progress', agent_id: 'B', progress: 40, reply: null },
  'succeed A': { type: 'succeed', agent_id: 'A', result: null },
  'succeed E': { type: 'succeed', agent_id: 'E', result: { output: 'x' } },
  'succeed B': { type: 'succeed', agent_id: 'B', result: null },
  'fail A': { type: 'fail', agent_id: 'A', error_info: null },
  'fail E': { type: 'fail', agent_id: 'E', error_info: 'oops' },
  'fail B': { type: 'fail', agent_id: 'B', error_info: 'oops' },
  lose: { type: 'lose', seconds: 60 },
  cancel: { type: 'cancel' },
  expire: { type: 'expire' },
  abandon: { type: 'abandon' },
};

const T = 'refuse task_terminal';
const NR = 'refuse task_not_running';
const NP = 'refuse task_not_pending';
const AM = 'refuse agent_mismatch';
const NM = 'refuse task_not_movable';

/** Columns: pending, running (one attempt unknown), untaken, acknowledged, disowned, success, failed. */
const TABLE: Record<keyof typeof TRIGGERS, readonly string[]> = {
  'assign B': ['running B 1-0', NP, NP, NP, NP, T, T],
  wait: [
    'pending waiting',
    'running A 1-0 waiting',
    'running A 1-1 waiting',
    'running A acknowledged waiting',
    'running A 1-0 waiting',
    T,
    T,
  ],
  stay: [NR, 'running A 1-0', 'running A 1-1', 'running A acknowledged', 'running A 1-0', T, T],
  attempt: [NR, 'running A 2-0', 'running A 2-1', 'running A acknowledged', 'running A 2-0', T, T],
  'untaken A': [NR, 'running A 1-1', 'running A 1-1', 'running A acknowledged', 'running A 1-1', T, T],
  'untaken E': [NR, AM, AM, AM, AM, T, T],
  'acknowledge A': [NR, ...Array<string>(3).fill('running A acknowledged'), 'running A 1-0', T, T],
  'acknowledge A, named': [NR, ...Array<string>(4).fill('running A acknowledged'), T, T],
  'acknowledge E': [NR, AM, AM, AM, AM, T, T],
  'disown A': [NR, 'running A 1-0', 'running A 1-1', 'running A 1-0', 'running A 1-0', T, T],
  'reassign B': [NR, NM, 'running B 1-0', NM, NM, T, T],
  'reassign B, gone': [NR, 'running B 1-0', 'running B 1-0', NM, 'running B 1-0', T, T],
  'reassign A': [NR, NM, NM, NM, NM, T, T],
  'progress A': [AM, ...Array<string>(4).fill('running A acknowledged 40%'), T, T],
  'progress E': [AM, AM, AM, AM, AM, T, T],
  'progress B': [AM, AM, AM, AM, AM, AM, AM],
  'succeed A': [AM, ...Array<string>(4).fill('success A 100 {}'), T, T],
  'succeed E': [AM, ...Array<string>(4).fill('success E 100 {"output":"x"}'), T, T],
  'succeed B': [AM, AM, AM, AM, AM, AM, AM],
  'fail A': [AM, ...Array<string>(4).fill('failed A: agent reported failure'), T, T],
  'fail E': [AM, ...Array<string>(4).fill('failed E: oops'), T, T],
  'fail B': [AM, AM, AM, AM, AM, AM, AM],
  lose: [NR, ...Array<string>(4).fill('failed A: agent lost: no contact for 60 s'), T, T],
  cancel: ['failed -: cancelled by user', ...Array<string>(4).fill('failed A: cancelled by user'), T, T],
  expire: ['failed -: timeout', ...Array<string>(4).fill('failed A: timeout'), T, T],
  abandon: ['failed -: 无可用 Agent', NP, NP, NP, NP, T, T],
};

describe('the state table', () => {
  const states = buildStates();
  for (const [name, trigger] of Object.entries(TRIGGERS)) {
    test(`${name} is answered in every state`, () => {
      const row = Object.values(states).map((state) => tell(state, trigger));
      expect(row).toEqual(TABLE[name]);
    });
  }

  test('a step never changes the state it is given', () => {
    for (const state of Object.values(states)) {
      const copy = structuredClone(state);
      for (const trigger of Object.values(TRIGGERS)) step(state, trigger, NOW);
      expect(state).toEqual(copy);
    }
  });

  test('a reply reported while running joins a result that brings none, and yields to one that does', () => {
    const running = advance(states.running as TaskState, {
      type: 'progress',
      agent_id: 'A',
      progress: 10,
      reply: 'on it',
    });
    expect(running.result).toBeNull();
    const plain = advance(running, { type: 'succeed', agent_id: 'A', result: { output: 'done' } });
    expect(plain.result).toEqual({ reply: 'on it', output: 'done' });
    const own = advance(running, { type: 'succeed', agent_id: 'A', result: { reply: 'mine' } });
    expect(own.result).toEqual({ reply: 'mine' });
  });

  test('progress never falls', () => {
    const half = advance(states.running as TaskState, {
      type: 'progress',
      agent_id: 'A',
      progress: 50,
      reply: null,
    });
    expect(advance(half, { type: 'progress', agent_id: 'A', progress: 20, reply: null }).progress).toBe(50);
  });
});
