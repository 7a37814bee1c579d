/** How an agent responds to pushes, on its own server and on one of the caller’s. */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type AgentOptions, isAuthentic } from '../../sdk/agent/index.ts';
import { agent, assigned, clock, create, createManualHandler, gateway } from './agent-fixture.ts';
import { elapse, pass, until } from './sdk-clock.ts';

describe('an agent that listens', () => {
  const SECRET = 'whsec_c2VjcmV0LW9mLXRoZS1wdXNoZXM=';

  async function listen(options: Partial<AgentOptions> = {}) {
    const created = create({ listen: { path: '/tasks' }, ...options });
    await created.start();
    const endpoint = String(gateway.registration?.endpoint);
    const push = async (body: unknown, init: RequestInit = {}) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const response = await fetch(endpoint, { method: 'POST', body: text, ...init });
      return response.status;
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

  test('registers the endpoint it is given', async () => {
    const { endpoint } = await listen({ endpoint: 'https://agents.test/1' });
    expect(endpoint).toBe('https://agents.test/1');
  });

  test('responds to a push at once, then works on the task and reports it', async () => {
    const { handler, get } = createManualHandler();
    const { push } = await listen({ handler });
    expect(await push(assigned('t1'))).toBe(202);
    get('t1').end('完成');
    await until(() => gateway.outcomes.has('t1'), 'the outcome is reported');
  });

  test('responds with 409 for a task it has, and 503 when it has no free slot', async () => {
    const { handler } = createManualHandler();
    const { push } = await listen({ handler });
    expect(await push(assigned('t1'))).toBe(202);
    expect(await push(assigned('t1'))).toBe(409);
    expect(await push(assigned('t2'))).toBe(503);
  });

  test('responds with 409 for a task it has done', async () => {
    const { push } = await listen();
    expect(await push(assigned('t1'))).toBe(202);
    await until(() => gateway.outcomes.has('t1'), 'the outcome is reported');
    await clock.advance(0);
    expect(await push(assigned('t1'))).toBe(409);
  });

  test('takes a dropped task again that is moved back to it, once its first handler has ended', async () => {
    const { handler, get } = createManualHandler();
    const { push } = await listen({ handler, maxConcurrent: 2 });
    const pushAt = (timestamp: number) =>
      push(assigned('t1'), sign(JSON.stringify(assigned('t1')), timestamp));
    await pushAt(0);
    gateway.cancelled.push('t1');
    await pass(clock, 17_000, 1_000);
    expect(await pushAt(20)).toBe(503);
    get('t1').end('too late');
    await clock.advance(0);
    expect(await pushAt(21)).toBe(202);
    expect(gateway.outcomes.size).toBe(0);
  });

  test.each([
    ['with', SECRET],
    ['without', undefined],
  ])(
    'responds with 409 to a recorded push of a cancelled task, %s a secret, and does not work again',
    async (_title, pushSecret) => {
      const { handler, get, started } = createManualHandler();
      const { push } = await listen({ handler, maxConcurrent: 2, pushSecret });
      const body = JSON.stringify(assigned('t1'));
      const replay = () => push(body, sign(body, 5));
      expect(await replay()).toBe(202);
      expect(await push(body, sign(body, 7))).toBe(409);
      gateway.cancelled.push('t1');
      await pass(clock, 17_000, 1_000);
      expect(get('t1').signal.aborted).toBe(true);
      expect(await replay()).toBe(409);
      get('t1').end('too late');
      await clock.advance(0);
      for (let seconds = 0; seconds < 280; seconds += 70) {
        expect(await replay()).toBe(409);
        expect(await push(body, sign(body, 7))).toBe(409);
        await pass(clock, 70_000, 10_000);
      }
      expect(started()).toEqual(['t1']);
      expect(gateway.outcomes.size).toBe(0);
    },
  );

  test('takes no push before it starts', async () => {
    const { handler, started } = createManualHandler();
    const created = create({ endpoint: 'http://agent.test/', handler });
    const push = () =>
      new Request('http://agent.test/', { method: 'POST', body: JSON.stringify(assigned('t1')) });
    expect((await created.fetch(push())).status).toBe(503);
    await pass(clock, 1_000);
    expect(started()).toEqual([]);
    await created.start();
    expect((await created.fetch(push())).status).toBe(202);
  });

  test('takes the largest task there is: a payload of 1 MiB as it is written, with all its tags', async () => {
    const { push } = await listen();
    const task_tags = Array.from({ length: 64 }, () => '\u0001'.repeat(256));
    const payload = { text: 'x'.repeat(1_048_576 - 11) };
    expect(JSON.stringify(payload)).toHaveLength(1_048_576);
    // A gateway may also push what an earlier attempt left as the task's result.
    const largest = { ...assigned('t1'), task_tags, payload, kept: { output: 'x'.repeat(1_048_576) } };
    expect(await push(largest)).toBe(202);
  });

  test('rejects what is not a task, or is another agent’s', async () => {
    const { push, endpoint } = await listen();
    expect(await push('no json')).toBe(422);
    expect(await push('null')).toBe(422);
    expect(await push({ ...assigned('t1'), request_id: 7 })).toBe(422);
    expect(await push({ ...assigned('t1'), payload: null })).toBe(422);
    expect(await push(assigned('t1', { agent_id: 'another' }))).toBe(404);
    expect((await fetch(endpoint)).status).toBe(405);
    expect((await fetch(new URL('/', endpoint), { method: 'POST' })).status).toBe(404);
    expect(gateway.bodies('result')).toEqual([]);
  });

  test('takes larger ones with a larger limit, and smaller ones alone with a smaller one', async () => {
    const larger = await listen({ maxPushBytes: 50_000_000 });
    const payload = { text: 'x'.repeat(40_000_000) };
    expect(await larger.push(assigned('t1', { payload }))).toBe(202);
    await elapse(clock, larger.created.stop({ drainMs: 0, graceMs: 0 }));
    const smaller = await listen({ maxPushBytes: 1_000 });
    expect(await smaller.push('x'.repeat(1_001))).toBe(413);
  });

  test('takes only pushes with a current signature of the gateway', async () => {
    const { push } = await listen({ pushSecret: ['another-secret', SECRET] });
    const body = JSON.stringify(assigned('t1'));
    expect(await push(body)).toBe(401);
    expect(await push(body, sign(body, 0, Buffer.from('wrong')))).toBe(401);
    expect(await push(body.replace('zh', 'en'), sign(body, 0))).toBe(401);
    expect(await push(body, sign(body, 301))).toBe(401);
    expect(await push(body, sign(body, 300))).toBe(202);
  });

  test('verifies the example published with Standard Webhooks', () => {
    const push = {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: '1614265330',
      signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      body: Buffer.from('{"test": 2432232314}'),
    };
    const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'];
    const nowMs = 1_614_265_330_000;
    expect(isAuthentic(push, secrets, nowMs)).toBe(true);
    expect(isAuthentic(push, secrets, nowMs + 300_001)).toBe(false);
    expect(isAuthentic({ ...push, body: Buffer.from('{"test":2432232314}') }, secrets, nowMs)).toBe(false);
    expect(isAuthentic({ ...push, signature: push.signature.replace('v1,', 'v2,') }, secrets, nowMs)).toBe(
      false,
    );
  });

  test('takes no task while it drains, and stops listening at the end', async () => {
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

describe('an agent whose pushes come to a server of the caller’s', () => {
  const SECRET = 'a-plain-push-secret';

  /** A push as the gateway sends it. */
  function push(body: string, { secret = SECRET, atSeconds = 0, method = 'POST' } = {}): Request {
    const key = Buffer.from(secret);
    const signature = createHmac('sha256', key).update(`t1.${atSeconds}.${body}`).digest('base64');
    return new Request('http://agent.test/any/path', {
      method,
      headers: {
        'webhook-id': 't1',
        'webhook-timestamp': String(atSeconds),
        'webhook-signature': `v1,${signature}`,
        'task-remaining': '1',
      },
      ...(method === 'POST' && { body }),
    });
  }

  async function mount() {
    const { handler, get, started } = createManualHandler();
    const created = create({ endpoint: 'https://agents.test/tasks', pushSecret: SECRET, handler });
    await created.start();
    return { created, get, started };
  }

  test('registers the endpoint, claims nothing, and takes pushes through `fetch`', async () => {
    const { created, get } = await mount();
    expect(gateway.registration).toMatchObject({ endpoint: 'https://agents.test/tasks' });
    const response = await created.fetch(push(JSON.stringify(assigned('t1'))));
    expect(response.status).toBe(202);
    await pass(clock, 900);
    expect(get('t1').signal.aborted).toBe(false);
    await pass(clock, 100);
    expect(get('t1').signal.reason).toMatchObject({ code: 'task_timeout' });
    expect(gateway.bodies('claim')).toEqual([]);
  });

  test.each([
    ['a wrong signature', 401, () => push(JSON.stringify(assigned('t1')), { secret: 'another' })],
    ['an old signature', 401, () => push(JSON.stringify(assigned('t1')), { atSeconds: -301 })],
    ['another method', 405, () => push('', { method: 'GET' })],
    ['a body that is not a task', 422, () => push('{"task":"t1"}')],
    ['no body', 422, () => push('')],
    ['another agent’s task', 404, () => push(JSON.stringify(assigned('t1', { agent_id: 'another' })))],
    ['too large a body', 413, () => push('x'.repeat(10_485_761))],
  ])('passes nothing else to the handler: %s', async (_title, status, request) => {
    const { created, started } = await mount();
    const response = await created.fetch(request());
    expect(response.status).toBe(status);
    expect(response.headers.get('allow')).toBe(status === 405 ? 'POST' : null);
    await pass(clock, 1_000);
    expect(started()).toEqual([]);
    expect(gateway.bodies('result')).toEqual([]);
  });

  test('says when to retry if it has no free slot', async () => {
    const { created, started } = await mount();
    await created.fetch(push(JSON.stringify(assigned('t1'))));
    const response = await created.fetch(push(JSON.stringify(assigned('t2'))));
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    await clock.advance(0);
    expect(started()).toEqual(['t1']);
  });

  test('takes pushes through `listener`, on any path', async () => {
    const { created, started } = await mount();
    const server = createServer(created.listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const send = async (request: Request) => {
      const { method, headers } = request;
      const body = method === 'POST' ? await request.text() : null;
      return (await fetch(`http://127.0.0.1:${port}/mounted`, { method, headers, body })).status;
    };
    expect(await send(push('', { method: 'GET' }))).toBe(405);
    expect(await send(push('{}', { secret: 'another' }))).toBe(401);
    expect(await send(push(JSON.stringify(assigned('t1'))))).toBe(202);
    expect(started()).toEqual(['t1']);
    await new Promise((resolve) => server.close(resolve));
  });
});
