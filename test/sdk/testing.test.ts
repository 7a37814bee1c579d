/** The entry for tests: the fake gateway, which conforms to the OpenAPI document, and `runHandler`. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Agent, type AgentOptions, createAgent, WorkStoppedError } from '../../sdk/agent/index.ts';
import { createClient, type Fetch } from '../../sdk/index.ts';
import { createFakeGateway, type FakeGateway, runHandler } from '../../sdk/testing/index.ts';
import { createDocumentCheck } from '../contract/document-check.ts';
import { until } from './sdk-clock.ts';

const agents: Agent[] = [];
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop({ drainMs: 0, graceMs: 0 })));
});

async function startAgent(gateway: FakeGateway, options: Partial<AgentOptions> = {}): Promise<Agent> {
  const agent = createAgent({
    ...gateway.options,
    agentId: 'tested',
    tags: ['zh'],
    handler: ({ payload }) => `${payload.text}！`,
    ...options,
  });
  agents.push(agent);
  await agent.start();
  return agent;
}

const submission = { task_type: 'x', task_tags: ['zh'], payload: { text: '你好' } };

describe('the fake gateway', () => {
  test.each(['pull', 'http://agent.test/tasks'])('connects a client and an agent: %s', async (endpoint) => {
    const pushed: number[] = [];
    const gateway: FakeGateway = createFakeGateway({
      push: async (request) => {
        const response = (await agents[0]?.fetch(request)) ?? Response.error();
        pushed.push(response.status);
        return response;
      },
    });
    await startAgent(gateway, { endpoint, maxConcurrent: 5 });
    const client = createClient(gateway.options);
    const runs = Array.from({ length: 5 }, () => client.runTask(submission));
    expect((await Promise.all(runs)).map(({ result }) => result)).toEqual(
      runs.map(() => ({ output: '你好！' })),
    );
    expect(pushed).toEqual(endpoint === 'pull' ? [] : [202, 202, 202, 202, 202]);
    expect(gateway.tasks().map(({ status }) => status)).toEqual(runs.map(() => 'success'));
  });

  test.each(['pull', 'http://agent.test/tasks'])(
    'gives an agent the trace of a task: %s',
    async (endpoint) => {
      const gateway: FakeGateway = createFakeGateway({
        push: async (request) => (await agents[0]?.fetch(request)) ?? Response.error(),
      });
      const traces: unknown[] = [];
      await startAgent(gateway, {
        endpoint,
        handler: (_task, { traceparent, tracestate }) => void traces.push([traceparent, tracestate]),
      });
      const trace = {
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        tracestate: 'a=1',
      };
      await createClient(gateway.options).runTask(submission, trace);
      await createClient(gateway.options).runTask(submission);
      expect(traces).toEqual([
        [trace.traceparent, trace.tracestate],
        [undefined, undefined],
      ]);
    },
  );

  test('sends only responses that the OpenAPI document allows', async () => {
    const faults: string[] = [];
    const seen = new Set<string>();
    const gateway = createFakeGateway();
    const check = createDocumentCheck();
    const fetch: Fetch = async (request, init) => {
      const response = await gateway.options.fetch(request, init);
      const isStream = response.headers.get('content-type') === 'text/event-stream';
      const { pathname: path } = new URL(request.url);
      seen.add(`${request.method} ${path.replace(/task-\d+/, '{id}')} ${response.status}`);
      if (isStream) return response;
      const { status, headers } = response;
      faults.push(
        ...check.findDeviations({
          method: request.method,
          path,
          status,
          headers,
          text: await response.clone().text(),
        }),
      );
      return response;
    };
    const options = { ...gateway.options, fetch };
    const client = createClient(options);
    await client.runTask({ ...submission, task_tags: [], queue_timeout: 0 }).catch(() => undefined);
    await createClient({ ...options, auth: 'wrong' })
      .getTask('t')
      .catch(() => undefined);
    await client.getTask('nothing').catch(() => undefined);
    await client.heartbeatAgent({ agent_id: 'unknown' }).catch(() => undefined);
    const agent = await startAgent(gateway, {
      ...options,
      handler: (_task, { reply }) => reply('收到') as undefined,
    });
    const { request_id } = await client.runTask(submission);
    await client.cancelTask(request_id).catch(() => undefined);
    await client.submitTask({ ...submission, payload: undefined as never }).catch(() => undefined);
    await agent.stop();
    expect(faults).toEqual([]);
    expect([...seen].sort()).toEqual(
      expect.arrayContaining([
        ...['POST /api/cli/tasks 200', 'GET /api/cli/tasks/{id} 200', 'POST /api/agent/register 200'],
        ...['POST /api/agent/claim 200', 'POST /api/agent/result 200', 'POST /api/agent/unregister 200'],
        ...['GET /api/cli/tasks/t 401', 'GET /api/cli/tasks/nothing 404', 'POST /api/agent/heartbeat 404'],
        ...['POST /api/cli/tasks/{id}/cancel 400', 'POST /api/cli/tasks 422'],
      ]),
    );
  });

  test('cuts its streams and removes its agents for a test, and a run still completes', async () => {
    const gateway = createFakeGateway({ heartbeatSeconds: 1 });
    const started = Promise.withResolvers<void>();
    const finished = Promise.withResolvers<string>();
    const handler: AgentOptions['handler'] = () => {
      started.resolve();
      return finished.promise;
    };
    await startAgent(gateway, { handler });
    const run = createClient(gateway.options).runTask(submission);
    await started.promise;
    gateway.cutStreams();
    gateway.forgetAgents();
    gateway.fail();
    await until(() => gateway.agents().length === 0, 'the agent is removed');
    gateway.recover();
    finished.resolve('after all');
    expect((await run).result).toEqual({ output: 'after all' });
    await until(() => gateway.agents().length === 1, 'the agent has registered again');
  });

  test('cancels a task, makes one time out, and finds no agent for one', async () => {
    const gateway = createFakeGateway();
    const client = createClient(gateway.options);
    const hurried = client.runTask({ ...submission, queue_timeout: 0 });
    await expect(hurried).rejects.toMatchObject({ code: 'no_agent_available' });
    const runs = [client.runTask(submission), client.runTask(submission)];
    const failures = Promise.allSettled(runs);
    await until(() => gateway.tasks().length === 3, 'both are submitted');
    const [, second, third] = gateway.tasks();
    expect(gateway.cancel(second?.request_id ?? '')).toBe(true);
    expect(gateway.expire(third?.request_id ?? '')).toBe(true);
    expect(gateway.cancel(third?.request_id ?? '')).toBe(false);
    expect(await failures).toMatchObject([
      { reason: { code: 'task_cancelled' } },
      { reason: { code: 'task_timeout' } },
    ]);
  });

  test('rejects a call that its caller leaves while the body is read', async () => {
    const gateway = createFakeGateway();
    await startAgent(gateway, { endpoint: 'http://agent.test/tasks' });
    const leaving = new AbortController();
    const { baseUrl, auth, fetch } = gateway.options;
    const claim = fetch(
      new Request(`${baseUrl}/api/agent/claim`, {
        method: 'POST',
        body: JSON.stringify({ auth, agent_id: 'tested', wait: 20 }),
        signal: leaving.signal,
      }),
    );
    leaving.abort();
    await expect(claim).rejects.toThrow('aborted');
  });

  test('ends a call that is aborted at any moment', async () => {
    const gateway = createFakeGateway();
    await startAgent(gateway, { endpoint: 'http://agent.test/' });
    const client = createClient(gateway.options);
    for (let ticks = 0; ticks < 40; ticks += 1) {
      const aborting = new AbortController();
      const claim = client
        .claimTask({ agent_id: 'tested', wait: 60 }, { signal: aborting.signal })
        .catch((error: unknown) => error);
      for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
      aborting.abort('enough');
      expect(await claim).toMatchObject({ code: 'aborted', cause: 'enough' });
    }
  });

  test('finds the task of a repeated submission', async () => {
    const gateway = createFakeGateway();
    const client = createClient(gateway.options);
    const first = await client.submitTask(submission, { idempotencyKey: 'k' });
    expect(await client.submitTask(submission, { idempotencyKey: 'k' })).toEqual(first);
    expect(gateway.tasks()).toHaveLength(1);
  });
});

describe('a handler run by runHandler', () => {
  test('gets a task and a context, and its outcome is returned', async () => {
    const outcome = await runHandler(
      async ({ payload }, { progress, reply }) => {
        progress(10);
        progress(50);
        reply('收到');
        return { output: `${payload.text}`, pages: 3 };
      },
      { payload: { text: '你好' } },
    );
    expect(outcome).toEqual({
      status: 'success',
      result: { reply: '收到', output: '你好', pages: 3 },
      error_info: null,
      progress: [10, 50],
      reply: '收到',
    });
  });

  test('fails with the text of its error', async () => {
    const error = new Error('文件损坏');
    const outcome = await runHandler(() => Promise.reject(error));
    expect(outcome).toMatchObject({ status: 'failed', result: null, error_info: '文件损坏', error });
  });

  test('gets its signal', async () => {
    const signal = AbortSignal.abort(new WorkStoppedError('task_timeout', 'timeout'));
    const outcome = await runHandler(async (_task, context) => context.signal.throwIfAborted() as undefined, {
      signal,
    });
    expect(outcome).toMatchObject({ status: 'failed', error_info: 'timeout' });
  });

  test('must not return a value that is not a result', async () => {
    const outcome = await runHandler(() => 7 as never);
    expect(outcome).toMatchObject({
      status: 'failed',
      error_info: expect.stringMatching(/an object, a text/),
    });
  });
});
