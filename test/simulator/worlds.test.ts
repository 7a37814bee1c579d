/** A world of the simulator: the gateway's own answers, a clock that the test moves, a transcript. */
import { describe, expect, test } from 'vitest';
import { createClient } from '../../sdk/index.ts';
import { createSimulator, type World, WorldBusy } from '../../server/simulator/index.ts';
import { createDocumentCheck } from '../contract/document-check.ts';
import { collectGarbage } from '../harness/heap.ts';

const TASK = { task_type: 't', task_tags: ['pdf'], payload: { text: '你好' } };

/** Sends a request with the secret. */
function send(world: World, method: string, path: string, headers: Record<string, string> = {}) {
  const { baseUrl, auth, fetch } = world.options;
  const all = { authorization: `Bearer ${auth}`, ...headers };
  return fetch(new Request(`${baseUrl}${path}`, { method, headers: all }));
}

describe('the clock', () => {
  test('stands still, then has everything happen that falls due on its way', async () => {
    const world = createSimulator({ startTime: 1_000_000 });
    const client = createClient({ ...world.options });
    const { request_id } = await client.submitTask({ ...TASK, timeout: 600, queue_timeout: 1_000 });
    expect(world.clock.now()).toBe(1_000_000);
    expect(await world.clock.advance(599.999)).toBe(1_000_599.999);
    expect((await client.getTask(request_id)).status).toBe('pending');
    await world.clock.advance(0.001);
    expect(await client.getTask(request_id)).toMatchObject({ status: 'failed', error_info: 'timeout' });
    expect((await client.explainTask(request_id)).ended_time).toBe(1_000_600);
  });

  test('jumps to the next moment at which something is due', async () => {
    const world = createSimulator({ startTime: 0 });
    const client = createClient({ ...world.options });
    expect(await world.clock.auto()).toBe(0);
    await client.submitTask({ ...TASK, queue_timeout: 30 });
    expect(await world.clock.auto()).toBe(30);
    await world.agents.add({ tags: ['pdf'], does: 'succeed', after: 7 });
    const { request_id } = await client.submitTask(TASK);
    await world.clock.settle();
    while ((await client.getTask(request_id)).status === 'running') await world.clock.auto();
    expect(world.clock.now()).toBe(37);
  });

  test('does not jump while a handler has a push, and says what is open', async () => {
    const world = createSimulator();
    const client = createClient({ ...world.options });
    const response = Promise.withResolvers<Response>();
    const endpoint = 'http://agent.test/tasks';
    world.agents.handle(endpoint, () => response.promise);
    await client.registerAgent({ agent_id: 'a', endpoint, agent_tags: ['pdf'] });
    await client.submitTask(TASK);
    const refused = world.clock.auto();
    await expect(refused).rejects.toThrow(WorldBusy);
    await expect(refused).rejects.toMatchObject({ code: 'world_busy', message: /1 requests or pushes/ });
    response.resolve(new Response(null, { status: 202 }));
    await world.clock.auto();
  });

  test('runs until a piece of work has ended, and says when it cannot end', async () => {
    const world = createSimulator();
    const client = createClient({ ...world.options });
    await world.agents.add({ tags: ['pdf'], does: 'die', after: 300 });
    const run = client.runTask({ ...TASK, timeout: 600 });
    await expect(world.clock.runUntil(run)).rejects.toMatchObject({ code: 'task_timeout' });
    expect(world.clock.monotonicMs()).toBeGreaterThanOrEqual(600_000);
    const never = createSimulator().clock.runUntil(new Promise(() => undefined));
    await expect(never).rejects.toThrow('Nothing is due any more');
  });

  test('ends a long poll at its time, and refuses a time that it cannot move', async () => {
    const world = createSimulator();
    const client = createClient({ ...world.options });
    const { request_id } = await client.submitTask({ ...TASK, queue_timeout: 600 });
    const polled = send(world, 'GET', `/api/cli/tasks/${request_id}?wait=20`);
    await world.clock.advance(20);
    expect((await polled).status).toBe(200);
    expect(() => world.clock.advance(-1)).toThrow(RangeError);
    expect(() => world.clock.advance(Number.NaN)).toThrow('0 to');
  });
});

describe('a fetch of a world', () => {
  test('answers as the gateway does, also HEAD, OPTIONS, CORS, ETag, 404, 405 and 401', async () => {
    const world = createSimulator({ corsOrigins: ['https://app.test'] });
    const read = await send(world, 'GET', '/api/admin/agents?limit=5', { 'x-admin-auth': world.adminAuth });
    const tag = read.headers.get('etag') ?? '';
    const headers = { 'x-admin-auth': world.adminAuth, 'if-none-match': tag };
    expect((await send(world, 'GET', '/api/admin/agents?limit=5', headers)).status).toBe(304);
    const head = await send(world, 'HEAD', '/api/cli/events?cli_session_id=s');
    expect([head.status, head.headers.get('content-type'), head.body]).toEqual([
      ...[200, 'text/event-stream', null],
    ]);
    const asked = { origin: 'https://app.test', 'access-control-request-method': 'POST' };
    const preflight = await send(world, 'OPTIONS', '/api/cli/tasks', asked);
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
      ...[204, 'https://app.test'],
    ]);
    expect((await send(world, 'GET', '/elsewhere')).status).toBe(404);
    expect((await send(world, 'DELETE', '/api/cli/tasks')).status).toBe(405);
    const refused = await send(world, 'GET', '/api/cli/tasks/x', { authorization: 'Bearer wrong' });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });

  test('answers only as the document allows', async () => {
    const world = createSimulator();
    const check = createDocumentCheck();
    const deviations: string[] = [];
    const fetch: World['options']['fetch'] = async (request, init) => {
      const response = await world.options.fetch(request, init);
      const { status, headers } = response;
      if (headers.get('content-type') === 'text/event-stream') return response;
      const { pathname: path } = new URL(request.url);
      const text = await response.clone().text();
      deviations.push(...check.findDeviations({ method: request.method, path, status, headers, text }));
      return response;
    };
    const client = createClient({ ...world.options, adminAuth: world.adminAuth, fetch });
    const run = client.runTask(TASK);
    await world.agents.add({ tags: ['pdf'] });
    const { request_id } = await run;
    await client.explainTask(request_id);
    await client.getOverview();
    await client.listTasks();
    await client.cancelTask(request_id).catch(() => undefined);
    await client.getTask('nothing').catch(() => undefined);
    expect(deviations).toEqual([]);
  });

  test('ends a call, and a stream, that its caller leaves', async () => {
    const world = createSimulator();
    const { baseUrl, auth, fetch } = world.options;
    const leaving = new AbortController();
    const { signal } = leaving;
    const headers = { authorization: `Bearer ${auth}` };
    const stream = await fetch(
      new Request(`${baseUrl}/api/cli/events?cli_session_id=s`, { headers, signal }),
    );
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain('retry:');
    const client = createClient({ ...world.options });
    await client.registerAgent({ agent_id: 'a', endpoint: 'pull', agent_tags: [] });
    const { request_id } = await client.submitTask({ ...TASK, queue_timeout: 60 });
    const polled = `${baseUrl}/api/cli/tasks/${request_id}?wait=20`;
    const waiting = fetch(new Request(polled, { headers, signal }));
    const body = JSON.stringify({ auth, agent_id: 'a', wait: 20 });
    const claim = fetch(new Request(`${baseUrl}/api/agent/claim`, { method: 'POST', body }), { signal });
    await world.clock.settle();
    // A request that is collected as garbage no longer hears of its caller's signal.
    collectGarbage();
    leaving.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(claim).rejects.toThrow('enough');
    await expect(reader?.read()).rejects.toThrow('enough');
    expect(world.transcript()).toContain('"kind":"left"');
  });

  test('keeps a stream open with pings in its own time', async () => {
    const world = createSimulator();
    const stream = await send(world, 'GET', '/api/cli/events?cli_session_id=s');
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    await reader?.read();
    const next = reader?.read();
    await world.clock.advance(15);
    expect((await next)?.value).toBe(': ping\n\n');
  });

  test('has a limit of streams for a session', async () => {
    const world = createSimulator();
    const open = () => send(world, 'GET', '/api/cli/events?cli_session_id=s');
    const streams = await Promise.all(Array.from({ length: 101 }, open));
    expect(streams.filter(({ status }) => status === 200)).toHaveLength(100);
    expect(await streams.find(({ status }) => status === 429)?.json()).toMatchObject({
      code: 'too_many_streams',
    });
  });
});

describe('worlds', () => {
  test('know nothing of each other, and begin again', async () => {
    const simulator = createSimulator();
    const one = createClient({ ...simulator.world('one').options });
    const { request_id } = await one.submitTask({ ...TASK, queue_timeout: 60 });
    for (const other of [simulator, simulator.world('two')]) {
      await expect(createClient({ ...other.options }).getTask(request_id)).rejects.toMatchObject({
        status: 404,
      });
    }
    await simulator.world('one').clock.advance(10);
    expect(simulator.clock.now()).toBe(simulator.world('one').clock.now() - 10);
    await simulator.world('one').reset();
    expect(simulator.world('one').clock.now()).toBe(simulator.clock.now());
    expect(simulator.world('one').transcript()).toBe('');
    expect((await one.submitTask({ ...TASK, queue_timeout: 60 })).request_id).toBe(request_id);
    expect(simulator.worldNames()).toEqual(['one', 'two']);
  });

  test('have names that stand in a path', async () => {
    const simulator = createSimulator();
    expect(() => simulator.world('a/b')).toThrow('1 to 64 letters');
    const response = await simulator.fetch(new Request('http://simulator.test/worlds/a%20b/api/cli/tasks/t'));
    expect([response.status, (await response.json()).code]).toEqual([404, 'world_not_found']);
  });

  test('are at most ten thousand, and those that are there stay', async () => {
    const simulator = createSimulator();
    for (let n = 0; n < 10_000; n += 1) simulator.world(`world-${n}`);
    expect(() => simulator.world('one-more')).toThrow('There are 10000 worlds.');
    const ask = (name: string) => simulator.fetch(new Request(`http://s.test/worlds/${name}/__sim/clock`));
    expect((await ask('one-more')).status).toBe(409);
    expect((await ask('world-9999')).status).toBe(200);
  });
});

describe('the transcript', () => {
  /** Everything that a world writes: clients, streams, pushes, retries, an end in time. */
  async function record(seed: number): Promise<string> {
    const world = createSimulator({ seed });
    const client = createClient({ ...world.options });
    await world.agents.add({ tags: ['pdf'], agent_id: 'busy', does: 'refuse' });
    world.faults.add({ fault: 'busy', operation: 'getTask', times: 1 });
    const named = { cli_session_id: 's' };
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      const sent = client.submitTask({ ...TASK, ...named, timeout: 40 + n }, { idempotencyKey: `k${n}` });
      ids.push((await sent).request_id);
    }
    const stream = await send(world, 'GET', '/api/cli/events?cli_session_id=s');
    const read = stream.text().catch(() => '');
    const task = client.getTask(ids[0] ?? '');
    await world.agents.add({ tags: ['pdf'], agent_id: 'free', after: 3, max_concurrent: 4 });
    await world.clock.advance(120);
    expect((await task).status).not.toBe('pending');
    const text = world.transcript();
    await world.reset();
    await read;
    return text;
  }

  test('has the same bytes for the same seed and script, and others for another seed', async () => {
    const [one, again, other] = [await record(7), await record(7), await record(8)];
    expect(one.split('\n').length).toBeGreaterThan(100);
    expect(again).toBe(one);
    expect(other).not.toBe(one);
  });

  test('stays when a world throws, and the response says what was thrown', async () => {
    const world = createSimulator();
    const { baseUrl, fetch } = world.options;
    const body = new ReadableStream({ start: (controller) => controller.error(new Error('the body broke')) });
    await send(world, 'GET', '/api/cli/tasks/before');
    const broken = new Request(`${baseUrl}/api/cli/tasks`, {
      method: 'POST',
      body,
      duplex: 'half',
    } as RequestInit);
    const response = await fetch(broken);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ code: 'world_threw', detail: /the body broke/ });
    expect((await send(world, 'GET', '/api/cli/tasks/behind')).status).toBe(404);
    const calls = world.transcript().match(/tasks\/\w+|no_response/g);
    expect(calls).toEqual(['tasks/before', 'no_response', 'tasks/behind']);
  });

  test('is lines of JSON without the secrets', async () => {
    const world = createSimulator();
    await world.agents.add({ tags: ['pdf'] });
    await createClient({ ...world.options }).submitTask(TASK);
    await world.clock.advance(1);
    const lines = world.transcript().trimEnd().split('\n');
    const kinds = new Set(lines.map((line) => JSON.parse(line).kind));
    expect([...kinds]).toEqual(['request', 'response', 'push', 'push_response']);
    expect(world.transcript()).not.toContain(world.options.auth);
  });
});
