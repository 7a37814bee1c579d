/**
 * `runTask`: it ends when the task is settled, by stream or by polling, whatever happens to the stream
 * meanwhile.
 */
import { describe, expect, test, vi } from 'vitest';
import type { Task } from '../../sdk/index.ts';
import * as sdk from '../../sdk/index.ts';
import { createGateway, submission } from './run-gateway.ts';
import { createScriptedFetch, json, someTask } from './scripted-fetch.ts';
import { doneFrame, problem } from './scripted-server.ts';
import { elapse, pass } from './sdk-clock.ts';

describe('runTask', () => {
  test('subscribes, then submits with the same session, and returns the task when its event comes', async () => {
    const gateway = createGateway();
    const run = gateway.client.runTask(submission);
    await gateway.clock.advance(0);
    expect(gateway.fetch.sent.map(({ method, url }) => `${method} ${url.pathname}`)).toEqual([
      'GET /api/cli/events',
      'POST /api/cli/tasks',
    ]);
    const session = gateway.streams[0]?.sent.url.searchParams.get('cli_session_id');
    expect(session).toMatch(/^sdk-/);
    expect(gateway.submits()[0]?.body).toMatchObject({ ...submission, cli_session_id: session });
    gateway.succeed();
    gateway.streams[0]?.write(doneFrame('1', 'another-task'));
    await pass(gateway.clock, 10);
    expect(gateway.gets()).toBe(0);
    gateway.streams[0]?.write(doneFrame('2', 'task-1'));
    expect(await run).toMatchObject({ request_id: 'task-1', status: 'success', result: { output: '完成' } });
    expect(gateway.gets()).toBe(1);
    expect(gateway.clock.sleeping()).toBe(0);
  });

  test('in a session of the caller’s reads none of its history: it opens no stream, and looks at the task', async () => {
    const gateway = createGateway();
    const run = gateway.client.runTask({ ...submission, cli_session_id: '会话' });
    await gateway.clock.advance(0);
    expect(gateway.submits()[0]?.body).toMatchObject({ cli_session_id: '会话' });
    expect(gateway.clock.nowMs()).toBe(0);
    await pass(gateway.clock, 3_000);
    expect(gateway.streams).toHaveLength(0);
    expect(new Set(gateway.waits())).toEqual(new Set(['20']));
    expect(gateway.gets()).toBeLessThanOrEqual(4);
    gateway.succeed();
    expect(await elapse(gateway.clock, run)).toMatchObject({ status: 'success' });
    expect(gateway.clock.sleeping()).toBe(0);
  });

  test('in a browser has no more than three polls held, so that connections remain', async () => {
    vi.stubGlobal('location', { href: 'http://page.test/', origin: 'http://page.test' });
    try {
      const gateway = createGateway();
      gateway.state.holdsPolls = true;
      const runs = Array.from({ length: 8 }, () =>
        gateway.client.runTask({ ...submission, cli_session_id: '会话' }),
      );
      await pass(gateway.clock, 5_000);
      expect(gateway.waits()).toEqual(['20', '20', '20']);
      expect(gateway.gets()).toBeGreaterThan(20);
      gateway.state.holdsPolls = false;
      gateway.succeed();
      gateway.state.releasePolls();
      for (const run of runs) expect(await elapse(gateway.clock, run)).toMatchObject({ status: 'success' });
    } finally {
      vi.unstubAllGlobals();
    }
  });

  test('accepts an event that comes before the response to the submission', async () => {
    const gateway = createGateway();
    gateway.state.onSubmit = () => {
      gateway.succeed();
      gateway.streams[0]?.write(doneFrame('1', 'task-1'));
    };
    const run = gateway.client.runTask(submission);
    await gateway.clock.advance(0);
    expect(await run).toMatchObject({ status: 'success' });
    expect(gateway.clock.nowMs()).toBe(0);
  });

  test('calls onProgress with the task as submitted and with each change', async () => {
    const gateway = createGateway();
    const seen: string[] = [];
    const onProgress = ({ status, progress }: Task) => seen.push(`${status} ${progress}`);
    const run = gateway.client.runTask(submission, { onProgress });
    await gateway.clock.advance(0);
    gateway.state.task = someTask({ status: 'running', agent_id: 'a', progress: 40 });
    await pass(gateway.clock, 3_000);
    gateway.state.task = someTask({ status: 'running', agent_id: 'a', progress: 80 });
    await pass(gateway.clock, 1_000);
    gateway.succeed();
    await elapse(gateway.clock, run);
    expect(seen).toEqual(['pending 0', 'running 40', 'running 80', 'success 100']);
  });

  test('shares one stream among all runs of a client, and closes it after the last one', async () => {
    const gateway = createGateway();
    const runs = [1, 2, 3].map(() => gateway.client.runTask(submission));
    await gateway.clock.advance(0);
    expect(gateway.submits()).toHaveLength(3);
    expect(gateway.streams).toHaveLength(1);
    gateway.succeed();
    gateway.streams[0]?.write(doneFrame('7', 'task-1'));
    await Promise.all(runs);
    expect(gateway.clock.sleeping()).toBe(0);

    gateway.state.task = someTask();
    const later = gateway.client.runTask(submission);
    await gateway.clock.advance(0);
    expect(gateway.streams[1]?.sent.headers.get('last-event-id')).toBe('7');
    gateway.succeed();
    gateway.streams[1]?.write(doneFrame('8', 'task-1'));
    await later;
  });
});

describe('when the stream fails, runTask', () => {
  test('polls until the stream is open again', async () => {
    const gateway = createGateway();
    const run = gateway.client.runTask(submission);
    await gateway.clock.advance(0);
    gateway.streams[0]?.end();
    await pass(gateway.clock, 1_000);
    expect(gateway.waits()).toEqual(['20', '20']);
    await pass(gateway.clock, 1_500);
    expect(gateway.streams).toHaveLength(2);
    const polled = gateway.gets();
    await pass(gateway.clock, 30_000);
    expect(gateway.gets()).toBe(polled);
    gateway.succeed();
    gateway.streams[1]?.write(doneFrame('1', 'task-1'));
    expect(await elapse(gateway.clock, run)).toMatchObject({ status: 'success' });
  });

  test('gets the task once when the stream is open again, even without an event', async () => {
    const gateway = createGateway();
    const run = gateway.client.runTask(submission);
    await gateway.clock.advance(0);
    gateway.streams[0]?.write('retry: 500\n\n');
    await gateway.clock.advance(0);
    gateway.streams[0]?.end();
    await pass(gateway.clock, 100);
    expect(gateway.gets()).toBe(1);
    gateway.succeed();
    await pass(gateway.clock, 500);
    expect(gateway.streams).toHaveLength(2);
    expect(await run).toMatchObject({ status: 'success' });
  });

  test.each([
    [429, 'too_many_streams'],
    [404, 'route_not_found'],
  ])('polls each second or so while there is none, for %i %s', async (status, code) => {
    const gateway = createGateway();
    gateway.state.streamOutage = json(problem(status, code), status, { 'retry-after': '3600' });
    const run = gateway.client.runTask(submission);
    await pass(gateway.clock, 5_000);
    expect(gateway.gets()).toBeGreaterThanOrEqual(4);
    expect(gateway.gets()).toBeLessThanOrEqual(6);
    gateway.succeed();
    expect(await elapse(gateway.clock, run)).toMatchObject({ status: 'success' });
  });

  test('gets the task once after a gap', async () => {
    const gateway = createGateway();
    const run = gateway.client.runTask(submission);
    await gateway.clock.advance(0);
    gateway.succeed();
    gateway.streams[0]?.write(': gap\nevent: gap\ndata: {}\n\n');
    expect(await run).toMatchObject({ status: 'success' });
  });

  test('gets the task once a minute while the stream is silent', async () => {
    const gateway = createGateway();
    const run = gateway.client.runTask(submission);
    await gateway.clock.advance(0);
    gateway.succeed();
    for (let seconds = 0; seconds < 60; seconds += 15) {
      gateway.streams[0]?.write(': ping\n\n');
      await pass(gateway.clock, 15_000);
    }
    expect(await run).toMatchObject({ status: 'success' });
    expect(gateway.streams).toHaveLength(1);
  });

  test('submits after five seconds even if the stream has not opened', async () => {
    const gateway = createGateway();
    const fetch = createScriptedFetch((sent) => {
      if (sent.url.pathname === '/api/cli/events') return new Promise<Response>(() => {});
      return json(someTask({ status: 'success', result: {} }));
    });
    const client = sdk.createClient({
      baseUrl: 'http://gateway.test',
      auth: 'a-good-secret',
      fetch,
      clock: gateway.clock,
    });
    const run = client.runTask(submission);
    await pass(gateway.clock, 4_999);
    expect(fetch.sent).toHaveLength(1);
    await pass(gateway.clock, 1);
    expect(await run).toMatchObject({ status: 'success' });
  });
});

describe('when the gateway fails, runTask', () => {
  test('waits until an outage is over', async () => {
    const gateway = createGateway();
    const run = gateway.client.runTask(submission);
    await gateway.clock.advance(0);
    gateway.state.outage = json(problem(503, 'store_unavailable'), 503, { 'retry-after': '1' });
    gateway.state.streamOutage = gateway.state.outage;
    gateway.streams[0]?.end();
    const before = gateway.gets();
    await pass(gateway.clock, 120_000);
    // Three attempts, and then a pause of up to ten seconds.
    expect(gateway.gets() - before).toBeLessThan(70);
    gateway.state.outage = undefined;
    gateway.state.streamOutage = undefined;
    gateway.succeed();
    expect(await elapse(gateway.clock, run)).toMatchObject({ status: 'success' });
  });

  test('gives up a minute after the task must have timed out', async () => {
    const gateway = createGateway();
    const run = gateway.client.runTask({ ...submission, timeout: 30 }).catch((error: unknown) => error);
    await gateway.clock.advance(0);
    gateway.state.outage = json(problem(503, 'store_unavailable'), 503);
    gateway.state.streamOutage = gateway.state.outage;
    gateway.streams[0]?.end();
    expect(await elapse(gateway.clock, run)).toMatchObject({ name: 'UnavailableError' });
    expect(gateway.clock.nowMs()).toBeGreaterThan(90_000);
    expect(gateway.clock.nowMs()).toBeLessThan(130_000);
  });

  test('throws an error that waiting can’t solve', async () => {
    const gateway = createGateway();
    gateway.state.outage = json(problem(401, 'unauthorized'), 401);
    gateway.state.streamOutage = gateway.state.outage;
    await expect(elapse(gateway.clock, gateway.client.runTask(submission))).rejects.toMatchObject({
      name: 'AuthenticationError',
    });
    expect(gateway.clock.sleeping()).toBe(0);
  });
});
