/**
 * The state table is one text: the comment that opens `step.ts`. Every cell of it is compared with what
 * `step()` does.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { step } from '../../server/domain/step.ts';
import { createTaskState, type TaskInput, type TaskState } from '../../server/domain/task.ts';
import { needsDetails, type Refusal, type Trigger } from '../../server/domain/triggers.ts';

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

/**
 * The states of the table's columns, reached by steps. `A` is the present agent, `E` an earlier one, `B`
 * another.
 */
function buildStates(): Record<string, TaskState> {
  const pending = createTaskState(input, { createdMs: NOW, deadlineMs: NOW + 60_000, queueEndMs: null }, 16);
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
  const disowned = advance(acknowledged, { type: 'disown', agent_id: 'A', attempts: 1 });
  const success = advance(acknowledged, { type: 'succeed', agent_id: 'A', result: { output: '好' } });
  const failed = advance(running, { type: 'fail', agent_id: 'A', error_info: 'boom', progress: null });
  const questions = [{ key: 'k', prompt: 'Go on?', at: 0 }];
  const asked = advance(acknowledged, { type: 'write', agent_id: 'A', questions });
  return { pending, running, untaken, acknowledged, disowned, asked, success, failed };
}

function advance(state: TaskState, trigger: Trigger): TaskState {
  const done = step(state, trigger, NOW);
  if (!done.ok) throw new Error(`${trigger.type}: ${done.refusal}`);
  return done.state;
}

const REFUSALS: Record<Refusal, string> = {
  task_terminal: 'T',
  task_not_running: 'NR',
  task_not_pending: 'NP',
  task_not_movable: 'NM',
  agent_mismatch: 'AM',
  not_asked: 'NQ',
  wrong_question: 'WQ',
  wrong_answer: 'WA',
};

/** One cell of the table: what the trigger leads to, in the words of its legend. */
function describeCell(before: TaskState, trigger: Trigger): { cell: string; ending: string } {
  const decided = step(before, trigger, NOW);
  if (!decided.ok) return { cell: REFUSALS[decided.refusal], ending: '' };
  const { status, agent_id, delivery, error_info, waiting, progress, result } = decided.state;
  if (status === 'failed') return { cell: `failed ${agent_id ?? '-'}`, ending: error_info ?? '' };
  if (status === 'success')
    return { cell: `success ${agent_id}`, ending: `${progress}% ${JSON.stringify(result)}` };
  const attempts = delivery?.acknowledged ? 'ack' : `${delivery?.attempts}-${delivery?.untaken}`;
  const where = delivery ? `${agent_id} ${attempts}` : '';
  const cell = `${where}${waiting ? ' wait' : ''}${progress > 0 ? ` ${progress}%` : ''}`;
  return { cell: cell.trim(), ending: '' };
}

/** The lines of both tables: each trigger in each state, and the ending that its settling cells have. */
function renderTables(states: Record<string, TaskState>): readonly string[] {
  const rows = [['trigger', ...Object.keys(states).slice(0, -2), 'settled']];
  const endings = [['trigger', 'ending']];
  for (const [name, trigger] of Object.entries(TRIGGERS)) {
    const cells = Object.values(states).map((state) => describeCell(state, trigger));
    const [success, failed] = cells.splice(-2);
    expect(success, `${name}: success and failed are both terminal`).toEqual(failed);
    rows.push([name, ...cells.map(({ cell }) => cell), success?.cell ?? '']);
    const distinct = new Set(cells.map(({ ending }) => ending).filter((ending) => ending !== ''));
    for (const ending of distinct) endings.push([name, ending]);
  }
  return [...rows, ...endings].map((row) => row.join(' | '));
}

/** The lines of the tables in the comment that opens `step.ts`, each with its padding removed. */
function readTables(): readonly string[] {
  const source = readFileSync(new URL('../../server/domain/step.ts', import.meta.url), 'utf8');
  const comment = source.slice(0, source.indexOf('*/'));
  return comment
    .split('\n')
    .filter((line) => line.includes(' | '))
    .map((line) =>
      line
        .replace(/^ \* /, '')
        .split('|')
        .map((cell) => cell.trim())
        .join(' | '),
    );
}

const TRIGGERS: Record<string, Trigger> = {
  'assign B': { type: 'assign', agent_id: 'B', attempted: true, nextMs: NOW },
  wait: { type: 'wait' },
  stay: { type: 'stay' },
  attempt: { type: 'attempt', pull: false, nextMs: NOW },
  fetch: { type: 'fetch' },
  'untaken A': { type: 'untaken', agent_id: 'A', attempt: 1, nextMs: NOW, busyUntilMs: null },
  'untaken E': { type: 'untaken', agent_id: 'E', attempt: 1, nextMs: NOW, busyUntilMs: null },
  'unknown A': { type: 'unknown', agent_id: 'A', attempt: 1, nextMs: NOW },
  'unknown E': { type: 'unknown', agent_id: 'E', attempt: 1, nextMs: NOW },
  'acknowledge A': { type: 'acknowledge', agent_id: 'A', attempt: 1 },
  'named by A': { type: 'acknowledge', agent_id: 'A', attempt: null },
  'acknowledge E': { type: 'acknowledge', agent_id: 'E', attempt: 1 },
  'disown A': { type: 'disown', agent_id: 'A', attempts: 1 },
  'disown A, late': { type: 'disown', agent_id: 'A', attempts: 0 },
  'reassign B': { type: 'reassign', agent_id: 'B', attempted: true, nextMs: NOW, agentGone: false },
  'reassign B, gone': { type: 'reassign', agent_id: 'B', attempted: true, nextMs: NOW, agentGone: true },
  'reassign A': { type: 'reassign', agent_id: 'A', attempted: true, nextMs: NOW, agentGone: true },
  'progress A': { type: 'progress', agent_id: 'A', progress: 40, reply: null },
  'progress E': { type: 'progress', agent_id: 'E', progress: 40, reply: null },
  'progress B': { type: 'progress', agent_id: 'B', progress: 40, reply: null },
  'write A': { type: 'write', agent_id: 'A' },
  'write E': { type: 'write', agent_id: 'E' },
  'write B': { type: 'write', agent_id: 'B' },
  answer: { type: 'answer', key: 'k', answer: true },
  'succeed A': { type: 'succeed', agent_id: 'A', result: null },
  'succeed E': { type: 'succeed', agent_id: 'E', result: { output: 'x' } },
  'succeed B': { type: 'succeed', agent_id: 'B', result: null },
  'fail A': { type: 'fail', agent_id: 'A', error_info: null, progress: 40 },
  'fail E': { type: 'fail', agent_id: 'E', error_info: 'oops', progress: 40 },
  'fail B': { type: 'fail', agent_id: 'B', error_info: 'oops', progress: null },
  lose: { type: 'lose', seconds: 60 },
  cancel: { type: 'cancel' },
  expire: { type: 'expire' },
  abandon: { type: 'abandon' },
};

describe('the state table', () => {
  const states = buildStates();
  const documented = readTables();
  const actual = renderTables(states);

  test('has one line for each trigger, and one for each ending', () => {
    expect(documented.length).toBe(actual.length);
    expect(actual.length).toBeGreaterThan(Object.keys(TRIGGERS).length);
  });

  for (const [index, line] of actual.entries()) {
    test(`the comment in step.ts has the line “${line}”`, () => {
      expect(documented[index]).toBe(line);
    });
  }

  test('a step never changes the state it is given', () => {
    for (const state of Object.values(states)) {
      const copy = structuredClone(state);
      for (const trigger of Object.values(TRIGGERS)) step(state, trigger, NOW);
      expect(state).toEqual(copy);
    }
  });

  test('the first reply reported while running joins a result without one, and yields to one that has its own', () => {
    const running = advance(states.running as TaskState, {
      type: 'progress',
      agent_id: 'A',
      progress: 10,
      reply: 'on it',
    });
    expect(running).toMatchObject({ result: null, hasReply: true });
    expect(JSON.stringify(running)).not.toContain('on it');
    const succeed = { type: 'succeed', agent_id: 'A', result: { output: 'done' } } as const;
    expect(needsDetails(running, succeed)).toBe(true);
    const plain = advance(running, { ...succeed, details: { reply: 'on it' } });
    expect(plain.result).toEqual({ reply: 'on it', output: 'done' });
    expect(plain).not.toHaveProperty('hasReply');
    const bare = { type: 'succeed', agent_id: 'A', result: null } as const;
    expect(needsDetails(running, bare)).toBe(true);
    expect(advance(running, { ...bare, details: { reply: 'on it' } }).result).toEqual({ reply: 'on it' });
    const later = advance(running, { type: 'progress', agent_id: 'A', progress: 20, reply: null });
    expect(later.hasReply).toBe(true);
    const own = { type: 'succeed', agent_id: 'A', result: { reply: 'mine' } } as const;
    expect(needsDetails(running, own)).toBe(false);
    expect(advance(running, own).result).toEqual({ reply: 'mine' });
    expect(needsDetails(states.running as TaskState, succeed)).toBe(false);
    expect(needsDetails(plain, succeed)).toBe(false);
    expect(needsDetails(running, { type: 'cancel' })).toBe(false);
  });

  test('prompts, schemas and answers are in the details, and stay there when the task ends', () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } } } as const;
    const content = { key: 'deploy', prompt: 'Deploy?', schema };
    const written = { type: 'write', agent_id: 'A', questions: [{ ...content, at: 0 }] } as const;
    const asked = step(states.running as TaskState, written, NOW);
    if (!asked.ok) throw new Error(asked.refusal);
    expect(asked.state.questions).toEqual([{ key: 'deploy', at: 0, askedMs: NOW }]);
    expect(asked.details).toEqual({ questions: [content] });
    const reported = { type: 'progress', agent_id: 'A', progress: 1, reply: 'on it' } as const;
    expect(needsDetails(asked.state, reported)).toBe(true);
    const replied = step(asked.state, { ...reported, details: asked.details ?? {} }, NOW);
    if (!replied.ok) throw new Error(replied.refusal);
    expect(replied.details).toEqual({ reply: 'on it', questions: [content] });
    const answers = { type: 'answer', key: 'deploy', answer: { ok: true } } as const;
    expect(needsDetails(replied.state, answers)).toBe(true);
    const answered = step(replied.state, { ...answers, details: replied.details ?? {} }, NOW + 1);
    if (!answered.ok) throw new Error(answered.refusal);
    expect(answered.state.questions).toEqual([{ key: 'deploy', at: 0, askedMs: NOW, answeredMs: NOW + 1 }]);
    expect(answered.details).toEqual({ reply: 'on it', questions: [{ ...content, answer: { ok: true } }] });
    const ended = step(answered.state, { type: 'cancel' }, NOW + 2);
    if (!ended.ok) throw new Error(ended.refusal);
    expect([ended.state.questions?.length, ended.details]).toEqual([1, undefined]);
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
