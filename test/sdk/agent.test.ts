/** The agent kit against a gateway in memory: what it does with tasks, and what it tells of them. */
import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type Agent,
  type AgentNotice,
  type AgentOptions,
  createAgent,
  type HandlerAnswer,
} from '../../sdk/agent/index.ts';
import { createKitClock, elapse, type KitClock, pass, until } from './kit-clock.ts';
import { json, someTask } from './scripted-fetch.ts';
import { createScriptedGateway, type ScriptedGateway } from './scripted-gateway.ts';
import { problem } from './scripted-server.ts';

let agent: Agent | undefined;
let gateway: ScriptedGateway;
let clock: KitClock;
let notices: AgentNotice[];

afterEach(async () => {
  if (agent) await elapse(clock, agent.stop({ drainMs: 0 }), 1_000);
  agent = undefined;
});

/** Creates an agent that pulls, unless told to listen; not started. */
function create(options: Partial<AgentOptions> = {}): Agent {
  gateway = createScriptedGateway();
  clock = createKitClock();
  notices = [];
  agent = createAgent({
    ...{ baseUrl: 'http://gateway.test', auth: 'a-good-secret', agentId: '译者 1', tags: ['zh'] },
    ...{ fetch: gateway.fetch, clock, onNotice: (notice) => notices.push(notice) },
    handler: () => ({ output: 'done' }),
    ...options,
  });
  return agent;
}

async function startPulling(options: Partial<AgentOptions> = {}): Promise<Agent> {
  const created = create(options);
  await created.start();
  await clock.advance(0);
  return created;
}

function hand(...ids: readonly string[]): Promise<void> {
  gateway.claimable.push(...ids.map((request_id) => assigned(request_id)));
  gateway.wake();
  return clock.advance(0);
}

function assigned(request_id: string, fields: Record<string, unknown> = {}) {
  return someTask({ request_id, status: 'running', agent_id: '译者 1', ...fields });
}

/** A handler whose tasks the test ends. */
function createManualHandler() {
  const tasks = new Map<
    string,
    {
      end(answer: HandlerAnswer): void;
      fail(error: unknown): void;
      signal: AbortSignal;
      progress(percent: number): void;
      reply(text: string): void;
    }
  >();
  const handler: AgentOptions['handler'] = ({ request_id }, context) =>
    new Promise((resolve, reject) => {
      tasks.set(request_id, { ...context, end: resolve, fail: reject });
    });
  const get = (request_id: string) => {
    const task = tasks.get(request_id);
    if (!task) throw new Error(`${request_id} was not begun`);
    return task;
  };
  return { handler, get, begun: () => [...tasks.keys()] };
}

const failures = () => notices.flatMap((notice) => (notice.kind === 'failure' ? [notice.during] : []));

describe('an agent registers', () => {
  test('with its tags, capacity and endpoint, and the time after which it is lost', async () => {
    await startPulling({ maxConcurrent: 3 });
    expect(gateway.registration).toEqual({
      ...{
        auth: 'a-good-secret',
        agent_id: '译者 1',
        endpoint: 'pull',
        agent_tags: ['zh'],
        max_concurrent: 3,
      },
      ...{ lost_after: 120, request_ids: [] },
    });
    expect(agent?.state).toBe('working');
  });

  test('without that time if it wants none', async () => {
    await startPulling({ lostAfterSeconds: null });
    expect(gateway.registration).not.toHaveProperty('lost_after');
  });

  test('as soon as the gateway is there', async () => {
    const created = create();
    gateway.outage = json(problem(503, 'store_unavailable'), 503);
    const started = created.start();
    await pass(clock, 60_000, 500);
    gateway.outage = undefined;
    await elapse(clock, started);
    expect(gateway.registration).toBeDefined();
    expect(failures()).toContain('register');
  });

  test('not at all with a wrong secret: start throws, nothing stays open', async () => {
    const created = create({ auth: 'a-bad-secret', listen: {} });
    await expect(created.start()).rejects.toMatchObject({ name: 'AuthenticationError' });
    expect(created.state).toBe('stopped');
    expect(clock.sleeping()).toBe(0);
  });

  test('again when the gateway has forgotten it', async () => {
    await startPulling();
    gateway.registration = undefined;
    await pass(clock, 17_000, 1_000);
    expect(gateway.registration).toMatchObject({ agent_id: '译者 1' });
  });
});

describe('an agent beats', () => {
  test('as often as the gateway asks, naming what it has in hand', async () => {
    const { handler } = createManualHandler();
    await startPulling({ handler, maxConcurrent: 2 });
    await hand('t1');
    await pass(clock, 45_000, 1_000);
    const beats = gateway.bodies('heartbeat');
    expect(beats).toHaveLength(3);
    expect(beats[0]).toEqual({ auth: 'a-good-secret', agent_id: '译者 1', request_ids: ['t1'] });
  });

  test('on through failures', async () => {
    await startPulling();
    gateway.outage = json({}, 500);
    await pass(clock, 60_000, 1_000);
    expect(failures()).toContain('heartbeat');
    gateway.outage = undefined;
    const before = gateway.bodies('heartbeat').length;
    await pass(clock, 30_000, 1_000);
    expect(gateway.bodies('heartbeat').length).toBeGreaterThan(before);
  });
});

describe('an agent works', () => {
  test.each<[string, HandlerAnswer, unknown]>([
    ['an object', { output: '完成', pages: 3 }, { output: '完成', pages: 3 }],
    ['a text, its output', '完成', { output: '完成' }],
    ['nothing', undefined, {}],
  ])('and reports what the handler answers: %s', async (_title, answer, result) => {
    await startPulling({ handler: async () => answer });
    await hand('t1');
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
      'no error at all',
      () => {
        throw '停';
      },
      '停',
    ],
    ['what no result can be', () => [1] as unknown as HandlerAnswer, /answers an object/],
    ['what no JSON can be', () => ({ big: 1n }), /BigInt/],
  ])('and reports as failed what the handler throws: %s', async (_title, handler, error_info) => {
    await startPulling({ handler });
    await hand('t1');
    const outcome = gateway.outcomes.get('t1');
    expect(outcome).toMatchObject({ status: 'failed' });
    expect(outcome?.error_info).toMatch(error_info);
  });

  test('on as many tasks as it may and no more', async () => {
    const { handler, begun, get } = createManualHandler();
    await startPulling({ handler, maxConcurrent: 2 });
    await hand('t1', 't2', 't3');
    expect(begun()).toEqual(['t1', 't2']);
    expect(gateway.bodies('heartbeat').at(-1)).toMatchObject({ request_ids: ['t1', 't2'] });
    get('t1').end('ok');
    await clock.advance(0);
    expect(begun()).toEqual(['t1', 't2', 't3']);
  });

  test('and tells progress in order, the newest of what comes in quick succession, never falling', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    await hand('t1');
    for (const percent of [1, 10, 30, 20, 49.6]) get('t1').progress(percent);
    await pass(clock, 1_000);
    get('t1').progress(20);
    get('t1').progress(400);
    await pass(clock, 1_000);
    expect(gateway.bodies('result').map(({ status, progress }) => [status, progress])).toEqual([
      ['running', 1],
      ['running', 50],
      ['running', 100],
    ]);
    expect(() => get('t1').progress(Number.NaN)).toThrow(/0 to 100/);
  });

  test('and tells its first reply, which joins the result', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    await hand('t1');
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

  test('only once on a task that is handed out twice', async () => {
    const { handler, begun, get } = createManualHandler();
    await startPulling({ handler, maxConcurrent: 2 });
    await hand('t1', 't1');
    expect(begun()).toEqual(['t1']);
    get('t1').end('ok');
    await clock.advance(0);
    await hand('t1');
    expect(gateway.bodies('result')).toHaveLength(1);
  });
});

describe('an agent reports an outcome', () => {
  test('until the gateway has it', async () => {
    await startPulling();
    gateway.reportAnswer = () => json({}, 503);
    await hand('t1');
    await pass(clock, 120_000, 500);
    expect(gateway.bodies('heartbeat').at(-1)).toMatchObject({ request_ids: ['t1'] });
    gateway.reportAnswer = undefined;
    await pass(clock, 31_000, 500);
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
    await pass(clock, 15_000, 1_000);
    expect(gateway.bodies('heartbeat').at(-1)).toMatchObject({ request_ids: [] });
  });

  test('after registering again if it was forgotten', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    await hand('t1');
    gateway.registration = undefined;
    get('t1').end('ok');
    await pass(clock, 2_000);
    expect(gateway.registration).toBeDefined();
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
  });

  test('as failed if the result itself is refused', async () => {
    await startPulling();
    gateway.reportAnswer = ({ status }) =>
      status === 'success' ? json(problem(413, 'payload_too_large'), 413) : undefined;
    await hand('t1');
    expect(gateway.outcomes.get('t1')).toMatchObject({
      status: 'failed',
      error_info: expect.stringContaining('refused'),
    });
  });

  test.each([
    ['task_not_found', 404],
    ['agent_mismatch', 400],
  ])('no further when nobody wants it: %s', async (code, status) => {
    await startPulling();
    gateway.reportAnswer = () => json(problem(status, code), status);
    await hand('t1');
    await pass(clock, 60_000, 1_000);
    expect(gateway.bodies('result')).toHaveLength(1);
    expect(notices).toContainEqual(expect.objectContaining({ kind: 'dropped', request_id: 't1' }));
  });
});

describe('a task that is not wanted any more is stopped and not reported', () => {
  test('when a heartbeat says so', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    await hand('t1');
    gateway.cancelled.push('t1', 'unknown');
    await pass(clock, 17_000, 1_000);
    expect(get('t1').signal.aborted).toBe(true);
    get('t1').fail(get('t1').signal.reason);
    await clock.advance(0);
    expect(gateway.bodies('result')).toEqual([]);
  });

  test('when its time is over', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    gateway.claimable.push(assigned('t1', { timeout: 2.5 }));
    gateway.wake();
    await clock.advance(0);
    await pass(clock, 2_400);
    expect(get('t1').signal.aborted).toBe(false);
    await pass(clock, 100);
    expect(get('t1').signal.reason).toMatchObject({ message: 'timeout' });
  });

  test('when progress is told and the task has ended', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    await hand('t1');
    gateway.reportAnswer = () => json({ ok: true, request_id: 't1', status: 'failed', accepted: false });
    get('t1').progress(10);
    await clock.advance(0);
    expect(get('t1').signal.aborted).toBe(true);
  });

  test('but keeps its place until the handler has ended', async () => {
    const { handler, get, begun } = createManualHandler();
    await startPulling({ handler });
    await hand('t1', 't2');
    gateway.cancelled.push('t1');
    await pass(clock, 17_000, 1_000);
    expect(begun()).toEqual(['t1']);
    expect(gateway.bodies('heartbeat').at(-1)).toMatchObject({ request_ids: ['t1'] });
    await pass(clock, 17_000, 1_000);
    expect(gateway.bodies('heartbeat').at(-1)).toMatchObject({ request_ids: [] });
    get('t1').end('too late');
    await clock.advance(0);
    expect(begun()).toEqual(['t1', 't2']);
  });
});

describe('a claim that fails', () => {
  test('is told and made again, a little later each time', async () => {
    await startPulling();
    gateway.outage = json({}, 500);
    gateway.wake();
    await pass(clock, 10_000);
    const claims = gateway.bodies('claim').length;
    expect(claims).toBeGreaterThanOrEqual(5);
    expect(claims).toBeLessThanOrEqual(8);
    gateway.outage = undefined;
    await pass(clock, 11_000, 500);
    await hand('t1');
    expect(gateway.outcomes.has('t1')).toBe(true);
  });
});

describe('an agent stops', () => {
  test('by draining: it says so, finishes what it has, unregisters', async () => {
    const { handler, get } = createManualHandler();
    const created = await startPulling({ handler });
    await hand('t1');
    const stopped = created.stop();
    await clock.advance(0);
    expect(created.state).toBe('draining');
    expect(gateway.bodies('heartbeat').at(-1)).toMatchObject({ draining: true, request_ids: ['t1'] });
    await pass(clock, 17_000, 1_000);
    expect(gateway.bodies('heartbeat').length).toBeGreaterThanOrEqual(3);
    get('t1').end('ok');
    await elapse(clock, stopped);
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
    expect(gateway.bodies('unregister')).toHaveLength(1);
    expect(created.state).toBe('stopped');
    expect(clock.sleeping()).toBe(0);
  });

  test('what takes too long is stopped and reported as failed', async () => {
    const { handler, get } = createManualHandler();
    const created = await startPulling({ handler });
    await hand('t1');
    await elapse(clock, created.stop({ drainMs: 3_000 }));
    expect(get('t1').signal.aborted).toBe(true);
    expect(gateway.outcomes.get('t1')).toMatchObject({
      status: 'failed',
      error_info: expect.stringContaining('stopped'),
    });
  });

  test('also when the gateway is gone', async () => {
    const { handler } = createManualHandler();
    const created = await startPulling({ handler });
    await hand('t1');
    gateway.outage = json({}, 500);
    await elapse(clock, created.stop({ drainMs: 1_000 }), 500);
    expect(created.state).toBe('stopped');
    expect(clock.nowMs()).toBeLessThan(20_000);
    expect(clock.sleeping()).toBe(0);
  });

  test('before it has registered', async () => {
    const created = create();
    gateway.outage = json({}, 500);
    const started = created.start();
    await pass(clock, 1_000);
    await elapse(clock, created.stop());
    await started;
    expect(created.state).toBe('stopped');
    expect(clock.sleeping()).toBe(0);
  });

  test('twice, and never starts again', async () => {
    const created = await startPulling();
    await elapse(clock, Promise.all([created.stop(), created.stop()]));
    expect(gateway.bodies('unregister')).toHaveLength(1);
    await expect(created.start()).rejects.toMatchObject({ code: 'invalid_option' });
  });
});

describe('an agent that listens', () => {
  const SECRET = 'whsec_c2VjcmV0LW9mLXRoZS1wdXNoZXM=';

  async function listen(options: Partial<AgentOptions> = {}) {
    const created = create({ listen: { path: '/tasks' }, ...options });
    await created.start();
    const endpoint = String(gateway.registration?.endpoint);
    const push = async (body: unknown, init: RequestInit = {}) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const answer = await fetch(endpoint, { method: 'POST', body: text, ...init });
      return answer.status;
    };
    return { created, endpoint, push };
  }

  function sign(body: string, timestamp: number, key = Buffer.from('secret-of-the-pushes')) {
    const signature = createHmac('sha256', key).update(`t1.${timestamp}.${body}`).digest('base64');
    return {
      headers: {
        'webhook-id': 't1',
        'webhook-timestamp': String(timestamp),
        'webhook-signature': `v1,AAAA v1,${signature}`,
      },
    };
  }

  test('registers the address it listens on, and claims nothing', async () => {
    const { endpoint } = await listen();
    expect(endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/tasks$/);
    await pass(clock, 1_000);
    expect(gateway.bodies('claim')).toEqual([]);
  });

  test('registers the endpoint it is told', async () => {
    const { endpoint } = await listen({ endpoint: 'https://agents.test/1' });
    expect(endpoint).toBe('https://agents.test/1');
  });

  test('answers a push at once, works, and reports', async () => {
    const { handler, get } = createManualHandler();
    const { push } = await listen({ handler });
    expect(await push(assigned('t1'))).toBe(202);
    get('t1').end('完成');
    await until(() => gateway.outcomes.has('t1'), 'the outcome is reported');
  });

  test('says that it has a task, and that it is busy', async () => {
    const { handler } = createManualHandler();
    const { push } = await listen({ handler });
    expect(await push(assigned('t1'))).toBe(202);
    expect(await push(assigned('t1'))).toBe(409);
    expect(await push(assigned('t2'))).toBe(503);
  });

  test('says that it has done a task already', async () => {
    const { push } = await listen();
    expect(await push(assigned('t1'))).toBe(202);
    await until(() => gateway.outcomes.has('t1'), 'the outcome is reported');
    await clock.advance(0);
    expect(await push(assigned('t1'))).toBe(409);
  });

  test('takes a task again whose work it had dropped, once that has ended', async () => {
    const { handler, get } = createManualHandler();
    const { push } = await listen({ handler });
    await push(assigned('t1'));
    gateway.cancelled.push('t1');
    await pass(clock, 17_000, 1_000);
    expect(await push(assigned('t1'))).toBe(503);
    get('t1').end('too late');
    await clock.advance(0);
    expect(await push(assigned('t1'))).toBe(202);
    expect(gateway.outcomes.size).toBe(0);
  });

  test('goes by the time the gateway says is left', async () => {
    const { handler, get } = createManualHandler();
    const { push } = await listen({ handler });
    await push(assigned('t1'), { headers: { 'task-remaining': '1.5' } });
    await pass(clock, 1_400);
    expect(get('t1').signal.aborted).toBe(false);
    await pass(clock, 100);
    expect(get('t1').signal.aborted).toBe(true);
  });

  test('refuses what is no task of its own', async () => {
    const { push, endpoint } = await listen();
    expect(await push('no json')).toBe(400);
    expect(await push('null')).toBe(400);
    expect(await push({ request_id: 7 })).toBe(400);
    expect(await push(assigned('t1', { agent_id: 'another' }))).toBe(404);
    expect((await fetch(endpoint)).status).toBe(405);
    expect((await fetch(new URL('/', endpoint), { method: 'POST' })).status).toBe(404);
    expect(gateway.bodies('result')).toEqual([]);
  });

  test('refuses a body that is too large', async () => {
    const { push } = await listen();
    expect(await push('x'.repeat(8_388_609))).toBe(413);
  });

  test('takes only what is signed by the gateway, and now', async () => {
    const { push } = await listen({ pushSecret: ['another secret', SECRET] });
    const body = JSON.stringify(assigned('t1'));
    expect(await push(body)).toBe(401);
    expect(await push(body, sign(body, 0, Buffer.from('wrong')))).toBe(401);
    expect(await push(body.replace('zh', 'en'), sign(body, 0))).toBe(401);
    expect(await push(body, sign(body, 301))).toBe(401);
    expect(await push(body, sign(body, 300))).toBe(202);
  });

  test('takes a signature of a secret that is plain text', async () => {
    const { push } = await listen({ pushSecret: 'plain' });
    const body = JSON.stringify(assigned('t1'));
    expect(await push(body, sign(body, 0, Buffer.from('plain')))).toBe(202);
  });

  test('takes nothing more while it drains, and stops listening at the end', async () => {
    const { handler, get } = createManualHandler();
    const { created, push } = await listen({ handler, maxConcurrent: 2 });
    await push(assigned('t1'));
    const stopped = created.stop();
    expect(await push(assigned('t2'))).toBe(503);
    expect(await push(assigned('t1'))).toBe(409);
    get('t1').end('ok');
    await elapse(clock, stopped);
    await expect(push(assigned('t3'))).rejects.toThrow();
  });

  test('fails to start on a port in use', async () => {
    const { endpoint } = await listen();
    const first = agent;
    const second = create({ listen: { port: Number(new URL(endpoint).port) } });
    await expect(second.start()).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await first?.stop({ drainMs: 0 });
  });
});

describe('createAgent refuses what can’t work', () => {
  test.each<[string, Partial<AgentOptions>]>([
    ['no capacity', { maxConcurrent: 0 }],
    ['half a task', { maxConcurrent: 1.5 }],
    ['an endpoint nobody listens at', { endpoint: 'http://agent.test' }],
    ['all addresses without an endpoint', { listen: { host: '0.0.0.0' } }],
    ['a path without a slash', { listen: { path: 'tasks' } }],
    ['no address', { baseUrl: '' }],
  ])('%s', (_title, options) => {
    expect(() => create(options)).toThrow(expect.objectContaining({ name: 'InvalidOptionError' }));
    agent = undefined;
  });
});
