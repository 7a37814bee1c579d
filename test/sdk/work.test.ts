/** What an agent does with its tasks, and how it reports their outcomes. */
import { describe, expect, test } from 'vitest';
import { type HandlerAnswer, type StopCode, WorkStoppedError } from '../../sdk/agent/index.ts';
import { agent, clock, createManualHandler, events, gateway, offer, startPulling } from './agent-fixture.ts';
import { json } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { pass } from './sdk-clock.ts';

describe('an agent that works', () => {
  test.each<[string, HandlerAnswer, unknown]>([
    ['an object', { output: '完成', pages: 3 }, { output: '完成', pages: 3 }],
    ['a text, its output', '完成', { output: '完成' }],
    ['nothing', undefined, {}],
  ])('reports what the handler returns: %s', async (_title, answer, result) => {
    await startPulling({ handler: async () => answer });
    await offer('t1');
    expect(gateway.outcomes.get('t1')).toEqual({
      auth: 'a-good-secret',
      agent_id: '译者 1',
      request_id: 't1',
      status: 'success',
      result,
    });
  });

  test.each([
    [
      'an error',
      () => {
        throw new Error('文件损坏');
      },
      '文件损坏',
    ],
    [
      'an error of a kind',
      () => {
        throw new RangeError('too far');
      },
      'RangeError: too far',
    ],
    [
      'a value that is not an error',
      () => {
        throw '停';
      },
      '停',
    ],
    ['what can’t be a result', () => [1] as unknown as HandlerAnswer, /must return an object/],
    ['what can’t be written as JSON', () => ({ big: 1n }), /BigInt/],
  ])('reports as failed what the handler throws: %s', async (_title, handler, error_info) => {
    await startPulling({ handler });
    await offer('t1');
    const outcome = gateway.outcomes.get('t1');
    expect(outcome).toMatchObject({ status: 'failed' });
    expect(outcome?.error_info).toMatch(error_info);
  });

  test('works on no more tasks than it has slots', async () => {
    const { handler, started, get } = createManualHandler();
    await startPulling({ handler, maxConcurrent: 2 });
    await offer('t1', 't2', 't3');
    expect(started()).toEqual(['t1', 't2']);
    expect(gateway.bodies('heartbeat').at(-1)).toMatchObject({ request_ids: ['t1', 't2'] });
    get('t1').end('ok');
    await clock.advance(0);
    expect(started()).toEqual(['t1', 't2', 't3']);
  });

  test('reports progress in order, the newest of values in quick succession, never falling', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    await offer('t1');
    for (const percent of [1, 10, 30, 20, 49.6]) get('t1').progress(percent);
    await pass(clock, 100);
    expect(gateway.bodies('result')).toHaveLength(1);
    await pass(clock, 900);
    get('t1').progress(20);
    get('t1').progress(400);
    await pass(clock, 1_000);
    expect(gateway.bodies('result').map(({ status, progress }) => [status, progress])).toEqual([
      ['running', 1],
      ['running', 50],
      ['running', 100],
    ]);
  });

  test('reports the first reply, which becomes part of the result', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    await offer('t1');
    get('t1').reply('我来翻译');
    get('t1').reply('again');
    await pass(clock, 500);
    get('t1').end('完成');
    await clock.advance(0);
    expect(gateway.bodies('result').map(({ result }) => result)).toEqual([
      { reply: '我来翻译' },
      { reply: '我来翻译', output: '完成' },
    ]);
  });

  test('works once on a task that it claims twice', async () => {
    const { handler, started, get } = createManualHandler();
    await startPulling({ handler, maxConcurrent: 2 });
    await offer('t1', 't1');
    expect(started()).toEqual(['t1']);
    get('t1').end('ok');
    await clock.advance(0);
    await offer('t1');
    expect(gateway.bodies('result')).toHaveLength(1);
  });
});

describe('an agent that reports an outcome', () => {
  test('registers once for the outcomes of several tasks', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler, maxConcurrent: 3 });
    await offer('t1', 't2', 't3');
    gateway.registration = undefined;
    for (const request_id of ['t1', 't2', 't3']) get(request_id).end('ok');
    await pass(clock, 2_000);
    expect(gateway.bodies('register')).toHaveLength(2);
    expect([...gateway.outcomes.keys()].sort()).toEqual(['t1', 't2', 't3']);
  });

  test('reports the task as failed if the result is rejected', async () => {
    await startPulling();
    gateway.respondToReport = ({ status }) =>
      status === 'success' ? json(problem(413, 'payload_too_large'), 413) : undefined;
    await offer('t1');
    expect(gateway.outcomes.get('t1')).toMatchObject({
      status: 'failed',
      error_info: expect.stringContaining('refused'),
    });
  });

  test.each([
    ['task_not_found', 404],
    ['agent_mismatch', 400],
  ])('does not repeat a report that the gateway does not want: %s', async (code, status) => {
    await startPulling();
    gateway.respondToReport = () => json(problem(status, code), status);
    await offer('t1');
    await pass(clock, 60_000, 1_000);
    expect(gateway.bodies('result')).toHaveLength(1);
    expect(events).toContainEqual(expect.objectContaining({ kind: 'dropped', request_id: 't1' }));
  });
});

describe('a task that is no longer wanted is stopped and not reported', () => {
  test('when a progress report is not accepted', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    await offer('t1');
    gateway.respondToReport = () => json({ ok: true, request_id: 't1', status: 'failed', accepted: false });
    get('t1').progress(10);
    await clock.advance(0);
    expect(get('t1').signal.aborted).toBe(true);
  });
});

test('An outcome whose report is under way is not dropped when a heartbeat names its task: the report ended it.', async () => {
  const { handler, get } = createManualHandler();
  await startPulling({ handler });
  await offer('t1');
  const answer = Promise.withResolvers<Response>();
  gateway.respondToReport = () => answer.promise;
  get('t1').end('done');
  await clock.advance(0);
  gateway.cancelled.push('t1');
  await pass(clock, 17_000, 1_000);
  answer.resolve(json({ ok: true, request_id: 't1', status: 'success', accepted: true }));
  await clock.advance(0);
  expect(gateway.bodies('result')).toHaveLength(1);
  const kinds = events.map(({ kind }) => kind);
  expect(kinds).toContain('reported');
  expect(kinds).not.toContain('dropped');
});

describe('a claim that fails', () => {
  test('is logged and retried, after a longer delay each time', async () => {
    await startPulling();
    gateway.outage = json({}, 500);
    gateway.wake();
    await pass(clock, 10_000);
    const claims = gateway.bodies('claim').length;
    expect(claims).toBeGreaterThanOrEqual(5);
    expect(claims).toBeLessThanOrEqual(8);
    gateway.outage = undefined;
    await pass(clock, 11_000, 500);
    await offer('t1');
    expect(gateway.outcomes.has('t1')).toBe(true);
  });
});

describe('a handler’s signal says why it fires', () => {
  test.each<[StopCode, () => Promise<void>]>([
    [
      'task_cancelled',
      async () => {
        gateway.cancelled.push('t1');
        await pass(clock, 17_000, 1_000);
      },
    ],
    ['task_timeout', () => pass(clock, 600_000, 10_000)],
    [
      'agent_stopped',
      async () => {
        void agent?.stop({ drainMs: 100 });
        await pass(clock, 200);
      },
    ],
  ])('%s', async (code, fire) => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    await offer('t1');
    expect(get('t1').signal.aborted).toBe(false);
    await fire();
    const { reason } = get('t1').signal;
    expect(reason).toBeInstanceOf(WorkStoppedError);
    expect(reason).toMatchObject({ code });
    get('t1').fail(reason);
    await pass(clock, 3_000);
  });
});
