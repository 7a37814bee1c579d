/** What is logged of tasks, agents and requests: which lines, how many in a minute, and what of the rest. */
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { completeAgent } from '../../server/domain/agent.ts';
import { createTaskState } from '../../server/domain/task.ts';
import type { Trigger } from '../../server/domain/triggers.ts';
import { type ActivityLog, createActivityLog } from '../../server/observability/activity-log.ts';
import type { Observer, ServedRequest } from '../../server/ports/observer.ts';
import type { PushOutcome } from '../../server/ports/pusher.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { BUSY, REFUSED, TAKEN } from '../harness/fake-pusher.ts';
import { SILENT, UNOBSERVED } from '../harness/silent-log.ts';

type Line = { readonly level: string; readonly message: string; readonly fields: Record<string, unknown> };
let lines: Line[];
let clock: FakeClock;
let activity: ActivityLog;
let observer: Observer;

function open(isDebugEnabled = false): void {
  lines = [];
  clock = createFakeClock();
  const record =
    (level: string) =>
    (fields: object, message: string): void => {
      lines.push({ level, message, fields: { ...fields } });
    };
  const log = { ...SILENT, isDebugEnabled, info: record('info'), debug: record('debug') };
  activity = createActivityLog({ log, clock });
  observer = { ...UNOBSERVED, ...activity.observer };
}
beforeEach(() => open());

const RECORD = completeAgent({
  agent_id: 'A',
  endpoint: 'http://a.test/?token=canary',
  agent_tags: ['gpu', 'eu'],
  max_concurrent: 4,
  external: 0,
  registration: 'r',
  registeredMs: 0,
  draining: false,
  offlineMs: null,
  left: false,
  unregisteredMs: null,
  lostAfterMs: null,
});
const INPUT = {
  request_id: 'x',
  task_type: 't',
  task_tags: ['gpu'],
  payload: { canary: 1 },
  cli_session_id: 's',
  create_time: 1,
  timeout: 60,
};
const STATE = createTaskState(INPUT, { createdMs: 0, deadlineMs: 60_000, queueEndMs: null }, 16);
const REQUEST: ServedRequest = {
  operation: 'submitTask',
  method: 'POST',
  path: '/api/cli/tasks',
  status: 401,
  code: 'unauthorized',
  ms: 2,
  peer: () => '203.0.113.7',
};

function abandon(tags: readonly string[], request_id = 'x'): void {
  const after = { ...STATE, task_tags: tags, status: 'failed', settledMs: 1 } as const;
  observer.noteStep({
    request_id,
    before: { value: STATE, revision: 'r' },
    after,
    trigger: { type: 'abandon' },
  });
}

/** A step that ends a task of the agent that the trigger names, else of `A`. */
function end(trigger: Trigger, request_id: string): void {
  const agent_id = 'agent_id' in trigger ? trigger.agent_id : 'A';
  const before = { ...STATE, status: 'running', agent_id } as const;
  const after = { ...before, status: 'failed', settledMs: 1 } as const;
  observer.noteStep({ request_id, before: { value: before, revision: 'r' }, after, trigger });
}

function push(outcome: PushOutcome, agent_id = 'A'): void {
  observer.notePush({ request_id: 'x', agent_id, outcome, ms: 3 });
}

describe('at info', () => {
  test('agents that come and go', () => {
    observer.noteAgent('registered', RECORD);
    observer.noteAgent('offline', { ...RECORD, offlineMs: 1 });
    observer.noteAgent('offline', { ...RECORD, agent_id: 'B', left: true });
    observer.noteAgent('back', RECORD);
    observer.noteAgent('unregistered', RECORD);
    observer.noteAgent('replaced', RECORD);
    observer.noteAgent('outlived', RECORD);
    expect(lines.map(({ message, fields }) => [message, fields])).toEqual([
      ['an agent registered', { agent_id: 'A', tags: 'gpu, eu', kind: 'push', max_concurrent: 4 }],
      ['an agent is offline: it gets no new tasks', { agent_id: 'A', tags: 'gpu, eu', reason: 'no contact' }],
      [
        'an agent is offline: it gets no new tasks',
        { agent_id: 'B', tags: 'gpu, eu', reason: 'it replied 410' },
      ],
      ['an agent is back', { agent_id: 'A' }],
      ['an agent unregistered', { agent_id: 'A' }],
      [
        'a registration replaced one that had a contact in the last 30 s: two processes may use one agent_id',
        { agent_id: 'A' },
      ],
      ['an earlier process of an agent unregistered: the later registration stays', { agent_id: 'A' }],
    ]);
  });

  test('the first push that fails, and when pushes arrive again', async () => {
    push(TAKEN);
    push(REFUSED);
    push(BUSY, 'B');
    push(REFUSED);
    await clock.advance(4_000);
    push({ kind: 'unknown', status: 500, error: 'responded with 500', retryAfterMs: null });
    push(TAKEN);
    push(TAKEN);
    expect(lines.map(({ message, fields }) => [message, fields])).toEqual([
      [
        'pushes to an agent fail; they are repeated',
        { agent_id: 'A', request_id: 'x', status: null, error: 'connection refused' },
      ],
      ['pushes to an agent arrive again', { agent_id: 'A', failed: 3, seconds: 4 }],
    ]);
  });

  test('an agent that unregisters while its pushes fail begins anew', () => {
    push(REFUSED);
    observer.noteAgent('unregistered', RECORD);
    push(TAKEN);
    expect(lines.map(({ message }) => message)).not.toContain('pushes to an agent arrive again');
  });

  test('tasks without an agent, by their tags; secrets that are refused, by address', () => {
    abandon(['gpu', 'eu'], 'first');
    abandon(['eu', 'gpu'], 'second');
    abandon(['cpu'], 'third');
    observer.noteRequest(REQUEST);
    observer.noteRequest({ ...REQUEST, operation: undefined, path: '/metrics', peer: () => '203.0.113.8' });
    observer.noteRequest({ ...REQUEST, status: 200, code: undefined });
    expect(lines.map(({ fields }) => fields)).toEqual([
      { tags: 'eu, gpu', request_id: 'first' },
      { tags: 'cpu', request_id: 'third' },
      { peer: '203.0.113.7', operation: 'submitTask' },
      { peer: '203.0.113.8', operation: '/metrics' },
    ]);
  });

  test('tasks that an agent reports as failed, by type and agent, and tasks lost with it; no error text', () => {
    end({ type: 'fail', agent_id: 'A', error_info: 'canary', progress: null }, 'first');
    end({ type: 'fail', agent_id: 'A', error_info: 'canary', progress: null }, 'second');
    end({ type: 'fail', agent_id: 'B', error_info: 'canary', progress: null }, 'third');
    end({ type: 'lose', seconds: 61 }, 'fourth');
    end({ type: 'succeed', agent_id: 'A', result: null }, 'fifth');
    expect(lines.map(({ message, fields }) => [message, fields])).toEqual([
      ['a task failed: its agent reported it', { type: 't', agent_id: 'A', request_id: 'first' }],
      ['a task failed: its agent reported it', { type: 't', agent_id: 'B', request_id: 'third' }],
      ['a task was lost with its agent', { agent_id: 'A', type: 't', request_id: 'fourth', seconds: 61 }],
    ]);
    activity.flush();
    expect(lines.at(-1)?.fields.counted).toEqual(['a task failed: its agent reported it: 1 more (t at A)']);
    expect(JSON.stringify(lines)).not.toContain('canary');
  });

  test('no endpoint, payload or long list of tags', () => {
    const tags = Array.from({ length: 500 }, (_, n) => `tag-${n}`);
    observer.noteAgent('registered', { ...RECORD, agent_tags: tags });
    abandon(tags);
    expect(JSON.stringify(lines)).not.toContain('canary');
    for (const { fields } of lines) expect(String(fields.tags)).toMatch(/^tag-\d+, .{0,220}… \(500 tags\)$/);
  });
});

describe('in a minute', () => {
  test('at most five lines of a kind, one of a key, and one that says what else happened', async () => {
    for (let n = 0; n < 300; n += 1) abandon([`tag-${n % 10}`]);
    for (let n = 0; n < 40; n += 1) observer.noteRequest(REQUEST);
    expect(lines).toHaveLength(6);
    await clock.advance(60_000);
    expect(lines.slice(6)).toEqual([
      {
        level: 'info',
        message: 'happened again in the last minute, not logged one by one',
        fields: {
          counted: [
            'a task failed: no agent has one of its tags and a free slot: 295 more (tag-5: 30)',
            'a request was refused: its secret is missing or wrong: 39 more (203.0.113.7)',
          ],
        },
      },
    ]);
  });

  test('the next minute begins anew, and one in which nothing was held back has no such line', async () => {
    abandon(['a']);
    abandon(['a']);
    await clock.advance(60_000);
    abandon(['a']);
    await clock.advance(61_000);
    abandon(['a']);
    await clock.advance(120_000);
    expect(lines.map(({ message }) => message.slice(0, 8))).toEqual([
      ...['a task f', 'happened', 'a task f', 'a task f'],
    ]);
    expect(clock.sleeping()).toBe(0);
  });

  test('very many keys take little memory and still have one line', async () => {
    for (let n = 0; n < 5_000; n += 1) observer.noteRequest({ ...REQUEST, peer: () => `198.51.100.${n}` });
    await clock.advance(60_000);
    expect(lines).toHaveLength(6);
    expect(String(lines[5]?.fields.counted)).toMatch(/: 4995 more \(others: 4800\)$/);
  });

  test('what was counted is logged when the process ends', () => {
    abandon(['a']);
    abandon(['a']);
    activity.flush();
    activity.flush();
    expect(lines).toHaveLength(2);
  });
});

describe('at debug', () => {
  test('each step, push and request, with ids, path and caller', () => {
    open(true);
    const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
    observer.noteSubmitted('x', STATE, { traceparent: `00-${trace_id}-00f067aa0ba902b7-01` });
    const delivery = {
      assignedMs: 1,
      attempts: 1,
      untaken: 0,
      attemptMs: 1,
      acknowledged: false,
      disowned: 0,
      nextMs: null,
      busy: [],
      pull: false,
    };
    const after = { ...STATE, status: 'running', agent_id: 'A', delivery } as const;
    const trigger = { type: 'assign', agent_id: 'A', attempted: true, nextMs: 1 } as const;
    observer.noteStep({ request_id: 'x', before: { value: STATE, revision: 'r' }, after, trigger });
    push(TAKEN);
    observer.noteRequest({ ...REQUEST, status: 200, code: undefined });
    expect(lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
      ['debug', 'a task was submitted', { request_id: 'x', trace_id, type: 't', tags: 'gpu', session: 's' }],
      ['debug', 'a task changed', { request_id: 'x', agent_id: 'A', step: 'assign', status: 'running' }],
      [
        'debug',
        'a push ended',
        { request_id: 'x', agent_id: 'A', outcome: 'acknowledged', status: 202, error: undefined, ms: 3 },
      ],
      [
        'debug',
        'responded',
        {
          operation: 'submitTask',
          method: 'POST',
          path: '/api/cli/tasks',
          status: 200,
          code: undefined,
          ms: 2,
          peer: '203.0.113.7',
        },
      ],
    ]);
  });

  test('nothing is built for lines that are not written', () => {
    let isAsked = false;
    observer.noteRequest({
      ...REQUEST,
      status: 200,
      code: undefined,
      peer: () => {
        isAsked = true;
        return '';
      },
    });
    expect([isAsked, lines]).toEqual([false, []]);
  });
});

test('OPERATING.md has each line of the log', () => {
  observer.noteAgent('registered', RECORD);
  observer.noteAgent('offline', RECORD);
  observer.noteAgent('back', RECORD);
  observer.noteAgent('unregistered', RECORD);
  push(REFUSED);
  push(TAKEN);
  abandon(['a']);
  abandon(['a']);
  observer.noteRequest(REQUEST);
  activity.flush();
  const page = readFileSync(new URL('../../server/OPERATING.md', import.meta.url), 'utf8');
  expect(new Set(lines.map(({ message }) => message)).size).toBe(9);
  for (const { message, fields } of lines) {
    expect(page).toContain(`\`${message}\``);
    for (const name of Object.keys(fields)) expect(page, message).toContain(`\`${name}\``);
  }
});
