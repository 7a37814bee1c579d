/**
 * What an agent does when the code it is given, or the gateway, is at fault: it goes on, and no other task
 * feels it. A rejection or an exception that nothing handles fails the run.
 */
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { AgentNotice, AgentOptions, HandlerAnswer } from '../../sdk/agent/index.ts';
import { runCallback } from '../../sdk/log.ts';
import { agent, clock, create, createManualHandler, gateway, offer, startPulling } from './agent-fixture.ts';
import { json } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse, pass } from './sdk-clock.ts';

afterEach(() => vi.restoreAllMocks());

const throwing = (): never => {
  throw new Error('it throws when it is looked at');
};
const traps = { get: throwing, getPrototypeOf: throwing, has: throwing, ownKeys: throwing };

describe('a task fails, and the agent goes on, when its handler throws', () => {
  test.each<[string, unknown]>([
    ['a value without a prototype', Object.create(null)],
    ['a proxy', new Proxy({}, traps)],
    ['an error whose message is no text', Object.assign(new Error(), { message: { text: 5 } })],
    ['an error whose message throws', Object.defineProperty(new Error(), 'message', { get: throwing })],
    ['a value whose text throws', { toString: throwing }],
    ['a symbol', Symbol('stop')],
    ['nothing', undefined],
  ])('%s', async (_title, thrown) => {
    const { handler, get } = createManualHandler();
    const choose: AgentOptions['handler'] = (task, context) => {
      if (task.request_id === 't1') throw thrown;
      return handler(task, context);
    };
    await startPulling({ handler: choose, maxConcurrent: 2 });
    await offer('t2', 't1');
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'failed', error_info: expect.any(String) });
    get('t2').end('well');
    await clock.advance(0);
    expect(gateway.outcomes.get('t2')).toMatchObject({ status: 'success' });
  });

  test('half a character more than an error may hold: it is cut between characters', async () => {
    await startPulling({
      handler: () => {
        throw new Error(`${'x'.repeat(3_999)}😀`);
      },
    });
    await offer('t1');
    expect(gateway.outcomes.get('t1')?.error_info).toBe('x'.repeat(3_999));
  });
});

describe('a listener of the caller’s that fails is printed, and nothing else happens', () => {
  test.each<[string, AgentOptions['onNotice']]>([
    ['throws', throwing],
    ['rejects', async () => throwing()],
    [
      'throws a proxy',
      () => {
        throw new Proxy({}, traps);
      },
    ],
  ])('onNotice %s', async (_title, onNotice) => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    await startPulling({ onNotice, handler: () => 'well' });
    await offer('t1');
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
    expect(printed.mock.calls[0]?.[0]).toContain('onNotice failed');
  });

  test('a logger throws', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(throwing);
    const logger = { debug: throwing, info: throwing, warn: throwing, error: throwing };
    await startPulling({ logger, logLevel: 'debug', handler: () => 'well' });
    await offer('t1');
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
    expect(printed).toHaveBeenCalled();
  });

  test('one that returns something is not waited for', () => {
    expect(runCallback('any', () => new Promise(() => undefined))).toBeUndefined();
  });
});

test('A progress that is no number is not sent, is said once, and fails no task.', async () => {
  const notices: AgentNotice[] = [];
  await startPulling({
    onNotice: (notice) => void notices.push(notice),
    async handler(_task, { progress }) {
      for (const percent of [Number.NaN, Number.POSITIVE_INFINITY, 'half' as unknown as number, 40])
        progress(percent);
      await clock.sleep(1_000);
      return 'well';
    },
  });
  await offer('t1');
  await pass(clock, 2_000, 200);
  expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
  expect(gateway.bodies('result').flatMap(({ progress }) => progress ?? [])).toEqual([40]);
  expect(notices.filter(({ kind }) => kind === 'failure')).toMatchObject([
    { during: 'report', error: { code: 'invalid_option' } },
  ]);
});

describe('a result is what JSON makes of it when it is returned', () => {
  test.each<[string, () => unknown, Record<string, unknown>]>([
    ['an object with toJSON', () => ({ toJSON: () => ({ output: 'said' }) }), { output: 'said' }],
    ['a date', () => new Date(0), { output: '1970-01-01T00:00:00.000Z' }],
    ['dates within', () => ({ at: new Date(0) }), { at: '1970-01-01T00:00:00.000Z' }],
  ])('%s', async (_title, create, result) => {
    await startPulling({ handler: () => create() as HandlerAnswer });
    await offer('t1');
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success', result });
  });

  test.each<[string, () => unknown]>([
    ['a map', () => new Map([['output', 'lost']])],
    ['a set', () => new Set(['lost'])],
    ['an error', () => new Error('lost')],
    ['a list by toJSON', () => ({ toJSON: () => [1] })],
    ['a function', () => () => 'lost'],
  ])('%s has no such form: the task fails', async (_title, create) => {
    await startPulling({ handler: () => create() as HandlerAnswer });
    await offer('t1');
    expect(gateway.outcomes.get('t1')).toMatchObject({
      status: 'failed',
      error_info: expect.stringContaining('must return an object'),
    });
  });

  test('later changes of the object do not reach it', async () => {
    const result = { output: 'as returned' };
    await startPulling({ handler: () => result });
    gateway.respondToReport = () => json({}, 503);
    await offer('t1');
    result.output = 'changed';
    gateway.respondToReport = undefined;
    await pass(clock, 5_000);
    expect(gateway.outcomes.get('t1')).toMatchObject({ result: { output: 'as returned' } });
  });
});

test('An agent whose function for the secret no longer resolves can be stopped; so can one that has never got one.', async () => {
  let isStuck = false;
  const auth = () => (isStuck ? new Promise<string>(() => undefined) : 'a-good-secret');
  const { handler } = createManualHandler();
  const working = await startPulling({ auth, handler });
  await offer('t1');
  isStuck = true;
  await elapse(clock, working.stop({ drainMs: 1_000, graceMs: 1_000 }), 500);
  expect(working.state).toBe('stopped');
  const starting = create({ auth });
  const started = starting.start();
  await pass(clock, 1_000);
  await elapse(clock, starting.stop({ drainMs: 0, graceMs: 0 }), 500);
  await started;
  expect(gateway.fetch.sent).toEqual([]);
});

describe('an agent calls no gateway in a loop', () => {
  const claims = () => gateway.bodies('claim').length;

  test.each<[string, () => Response]>([
    ['Retry-After: 0', () => json(problem(503, 'busy'), 503, { 'retry-after': '0' })],
    [
      'Retry-After in the past',
      () => json(problem(503, 'busy'), 503, { 'retry-after': new Date(0).toUTCString() }),
    ],
    ['no task, at once', () => new Response(null, { status: 204 })],
    ['something that is no task', () => json({ ok: true })],
  ])('that responds with %s', async (_title, respond) => {
    await startPulling();
    gateway.outage = respond();
    gateway.wake();
    await pass(clock, 60_000, 250);
    expect(claims()).toBeGreaterThan(3);
    expect(claims()).toBeLessThanOrEqual(65);
  });

  test('that asks for a pause of years: the pause is a minute or so', async () => {
    await startPulling();
    gateway.outage = json(problem(503, 'busy'), 503, { 'retry-after': '999999999' });
    gateway.wake();
    await pass(clock, 5_000);
    const before = claims();
    await pass(clock, 80_000, 1_000);
    expect(claims()).toBeGreaterThan(before);
  });

  test.each([1e-9, -5, 1e99])('that names an interval of %d s between heartbeats', async (seconds) => {
    const created = create();
    const receipt = { ok: true, agent_id: 'a', state: 'ready', cancelled_request_ids: [] };
    gateway.outage = json({ ...receipt, heartbeat_interval: seconds });
    await created.start();
    await pass(clock, 20_000, 500);
    expect(gateway.bodies('heartbeat').length).toBeLessThanOrEqual(25);
  });

  test('that cancels a number: the heartbeat failed, the tasks go on', async () => {
    const { handler, get } = createManualHandler();
    await startPulling({ handler });
    await offer('t1');
    gateway.outage = json({ ok: true, agent_id: 'a', cancelled_request_ids: 5 });
    await pass(clock, 40_000, 1_000);
    expect(get('t1').signal.aborted).toBe(false);
    expect(agent?.state).toBe('working');
  });
});

describe('a push secret that can’t sign is refused by createAgent, which says which form to give', () => {
  test.each([
    ['empty', ''],
    ['an empty list', []],
    ['one of several that is empty', ['a-good-one', '']],
    ['nothing behind whsec_', 'whsec_'],
    ['no base64 behind whsec_', 'whsec_not*base64'],
    ['a line end, as files have', 'whsec_c2VjcmV0\n'],
  ])('%s', (_title, pushSecret) => {
    expect(() => create({ listen: {}, pushSecret })).toThrow(
      expect.objectContaining({
        name: 'InvalidOptionError',
        message: expect.stringContaining('PUSH_SECRET'),
      }),
    );
  });

  test('an empty variable of the environment', () => {
    vi.stubEnv('TASK_GATEWAY_PUSH_SECRET', '');
    expect(() => create({ listen: {} })).toThrow(expect.objectContaining({ name: 'InvalidOptionError' }));
    vi.unstubAllEnvs();
  });
});
