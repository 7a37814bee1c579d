/** The life cycle of an agent: it registers, sends heartbeats, drains and stops. */
import { describe, expect, test, vi } from 'vitest';
import type { AgentOptions } from '../../sdk/agent/index.ts';
import {
  agent,
  clock,
  create,
  createManualHandler,
  failures,
  gateway,
  offer,
  startPulling,
} from './agent-fixture.ts';
import { json } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse, pass } from './sdk-clock.ts';

describe('an agent that starts', () => {
  test('registers with its tags, slots and endpoint, and the time after which it is lost', async () => {
    await startPulling({ maxConcurrent: 3 });
    expect(gateway.registration).toEqual({
      auth: 'a-good-secret',
      agent_id: '译者 1',
      endpoint: 'pull',
      agent_tags: ['zh'],
      max_concurrent: 3,
      lost_after: 120,
      request_ids: [],
    });
    expect(agent?.state).toBe('working');
  });

  test('registers without that time if `lostAfterSeconds` is null', async () => {
    await startPulling({ lostAfterSeconds: null });
    expect(gateway.registration).not.toHaveProperty('lost_after');
  });

  test('registers as soon as the gateway can be reached', async () => {
    const created = create();
    gateway.outage = json(problem(503, 'store_unavailable'), 503);
    const started = created.start();
    await pass(clock, 60_000, 500);
    gateway.outage = undefined;
    await elapse(clock, started);
    expect(gateway.registration).toBeDefined();
    expect(failures()).toContain('register');
  });

  test('does not register with a wrong secret: `start` throws, nothing stays open', async () => {
    const created = create({ auth: 'a-bad-secret', listen: {} });
    await expect(created.start()).rejects.toMatchObject({ name: 'AuthenticationError' });
    expect(created.state).toBe('stopped');
    expect(clock.sleeping()).toBe(0);
  });

  test('registers again when the gateway no longer knows it', async () => {
    await startPulling();
    gateway.registration = undefined;
    await pass(clock, 17_000, 1_000);
    expect(gateway.registration).toMatchObject({ agent_id: '译者 1' });
  });
});

describe('an agent that works', () => {
  test('sends heartbeats as often as the gateway asks, with the ids of its tasks', async () => {
    const { handler } = createManualHandler();
    await startPulling({ handler, maxConcurrent: 2 });
    await offer('t1');
    await pass(clock, 45_000, 1_000);
    const heartbeats = gateway.bodies('heartbeat');
    expect(heartbeats).toHaveLength(3);
    expect(heartbeats[0]).toEqual({
      auth: 'a-good-secret',
      agent_id: '译者 1',
      registration: 'r1',
      request_ids: ['t1'],
    });
  });

  test('keeps sending heartbeats after failures', async () => {
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

describe('an agent that stops', () => {
  test('drains: it announces it, finishes its tasks and unregisters', async () => {
    const { handler, get } = createManualHandler();
    const created = await startPulling({ handler });
    await offer('t1');
    const stopped = created.stop();
    await clock.advance(0);
    expect(created.state).toBe('draining');
    expect(gateway.bodies('heartbeat').at(-1)).toMatchObject({ draining: true, request_ids: ['t1'] });
    await pass(clock, 17_000, 1_000);
    expect(gateway.bodies('heartbeat').length).toBeGreaterThanOrEqual(3);
    get('t1').end('ok');
    await elapse(clock, stopped);
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
    expect(gateway.bodies('unregister')).toMatchObject([{ registration: 'r1' }]);
    expect(created.state).toBe('stopped');
    expect(clock.sleeping()).toBe(0);
  });

  test('stops a task that takes too long and reports it as failed', async () => {
    const { handler, get } = createManualHandler();
    const created = await startPulling({ handler });
    await offer('t1');
    await elapse(clock, created.stop({ drainMs: 3_000 }));
    expect(get('t1').signal.aborted).toBe(true);
    expect(gateway.outcomes.get('t1')).toMatchObject({
      status: 'failed',
      error_info: expect.stringContaining('stopped'),
    });
  });

  test('gives its tasks the whole time, also when that is longer than any timer', async () => {
    const { handler, get } = createManualHandler();
    const created = await startPulling({ handler });
    const sleep = clock.sleep.bind(clock);
    // The drain's sleep ends after a second, as any does after 24.8 days.
    vi.spyOn(clock, 'sleep').mockImplementation((ms, signal) => sleep(ms === 3_000 ? 1_000 : ms, signal));
    await offer('t1');
    const stopped = created.stop({ drainMs: 3_000 });
    await pass(clock, 2_500);
    expect(get('t1').signal.aborted).toBe(false);
    await elapse(clock, stopped);
    expect(get('t1').signal.aborted).toBe(true);
  });

  test('reports a task that is done, but could not be reported yet, with its real outcome', async () => {
    const created = await startPulling({ handler: () => 'done in time' });
    gateway.respondToReport = () => json(problem(503, 'store_unavailable'), 503, { 'retry-after': '3600' });
    await offer('t1');
    const stopped = created.stop({ drainMs: 500 });
    await pass(clock, 400);
    gateway.respondToReport = undefined;
    await elapse(clock, stopped);
    expect(gateway.outcomes.get('t1')).toMatchObject({
      status: 'success',
      result: { output: 'done in time' },
    });
  });

  test('stops in two stages: a handler’s outcome after its signal is still reported', async () => {
    const { handler, get } = createManualHandler();
    const created = await startPulling({ handler, maxConcurrent: 3 });
    await offer('t1', 't2', 't3');
    const stopped = created.stop({ drainMs: 3_000, graceMs: 1_000 });
    await pass(clock, 2_900);
    expect(get('t1').signal.aborted).toBe(false);
    await pass(clock, 200);
    expect(get('t1').signal.aborted).toBe(true);
    expect(gateway.outcomes.size).toBe(0);
    get('t1').end('as far as I came');
    get('t2').fail(get('t2').signal.reason);
    await elapse(clock, stopped);
    expect(gateway.outcomes.get('t1')).toMatchObject({ result: { output: 'as far as I came' } });
    expect(gateway.outcomes.get('t2')).toMatchObject({
      status: 'failed',
      error_info: expect.stringMatching(/^the agent was stopped/),
    });
    expect(gateway.outcomes.get('t3')).toMatchObject({ status: 'failed' });
    expect(gateway.fetch.sent.at(-1)?.url.pathname).toBe('/api/agent/unregister');
  });

  test('stops sooner when a second call shortens the stages', async () => {
    const { handler, get } = createManualHandler();
    const created = await startPulling({ handler });
    await offer('t1');
    const stopped = created.stop();
    await pass(clock, 1_000);
    expect(get('t1').signal.aborted).toBe(false);
    const hurried = created.stop({ drainMs: 0, graceMs: 0 });
    await pass(clock, 100);
    expect(get('t1').signal.aborted).toBe(true);
    await elapse(clock, Promise.all([stopped, hurried]));
    expect(clock.nowMs()).toBeLessThan(3_000);
  });

  test('announces its draining again after it had to register again', async () => {
    const { handler, get } = createManualHandler();
    const created = await startPulling({ handler });
    await offer('t1');
    const stopped = created.stop();
    await clock.advance(0);
    gateway.registration = undefined;
    get('t1').end('ok');
    await elapse(clock, stopped);
    expect(gateway.bodies('register')).toHaveLength(2);
    const last = gateway.fetch.sent.slice(
      gateway.fetch.sent.findLastIndex(({ url }) => url.pathname.endsWith('/register')),
    );
    expect(last[1]?.body).toMatchObject({ draining: true, request_ids: ['t1'] });
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
  });

  test('stops even if the gateway can’t be reached', async () => {
    const { handler } = createManualHandler();
    const created = await startPulling({ handler });
    await offer('t1');
    gateway.outage = json({}, 500);
    await elapse(clock, created.stop({ drainMs: 1_000 }), 500);
    expect(created.state).toBe('stopped');
    expect(clock.nowMs()).toBeLessThan(20_000);
    expect(clock.sleeping()).toBe(0);
  });

  test('unregisters once for two calls, and can’t be started again', async () => {
    const created = await startPulling();
    await elapse(clock, Promise.all([created.stop(), created.stop()]));
    expect(gateway.bodies('unregister')).toHaveLength(1);
    await expect(created.start()).rejects.toMatchObject({ code: 'invalid_option' });
  });
});

describe('createAgent rejects options that can’t work', () => {
  test.each<[string, Partial<AgentOptions>]>([
    ['no slot', { maxConcurrent: 0 }],
    ['half a slot', { maxConcurrent: 1.5 }],
    ['a time after which it is lost that no heartbeat is in time for', { lostAfterSeconds: 2.9 }],
    ['a time after which it is lost that is no number', { lostAfterSeconds: Number.NaN }],
    ['a port for an agent that pulls', { endpoint: 'pull', listen: {} }],
    ['all addresses without an endpoint', { listen: { host: '0.0.0.0' } }],
    ['a path without a slash', { listen: { path: 'tasks' } }],
    ['no address', { baseUrl: '' }],
  ])('%s', (_title, options) => {
    expect(() => create(options)).toThrow(expect.objectContaining({ name: 'InvalidOptionError' }));
  });
});
