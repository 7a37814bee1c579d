/** End-to-end tests of the SDK with the real gateway in a separate process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, type AgentOptions, createAgent, type HandlerAnswer } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient, type TaskSubmission } from '../../sdk/index.ts';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { until } from './sdk-clock.ts';

const AUTH = 'secret-of-the-stories-1';
const ADMIN = 'secret-of-the-stories-2';
const PUSH_SECRET = 'whsec_c2VjcmV0LW9mLXRoZS1wdXNoZXM=';
const SETTINGS = { GATEWAY_AUTH: AUTH, ADMIN_AUTH: ADMIN, PUSH_SECRET, LOG_LEVEL: 'info' };

let gateway: GatewayProcess;
let client: TaskGatewayClient;
const agents: Agent[] = [];

beforeAll(async () => {
  gateway = await startGateway(SETTINGS);
  client = createClient({ baseUrl: gateway.baseUrl, auth: AUTH, adminAuth: ADMIN });
});

afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop({ drainMs: 0 })));
});

afterAll(() => gateway.stop());

async function startAgent(
  agentId: string,
  options: Partial<AgentOptions> & Pick<AgentOptions, 'handler'>,
): Promise<Agent> {
  const agent = createAgent({ baseUrl: gateway.baseUrl, auth: AUTH, agentId, tags: [agentId], ...options });
  agents.push(agent);
  await agent.start();
  return agent;
}

function submissionFor(tag: string, payload: Record<string, unknown> = {}): TaskSubmission {
  return { task_type: '故事', task_tags: [tag], payload, timeout: 60 };
}

/** Creates a handler whose tasks wait until the test calls `finish`. */
function createWaitingHandler() {
  const finished = Promise.withResolvers<HandlerAnswer>();
  const started = Promise.withResolvers<AbortSignal>();
  const handler: AgentOptions['handler'] = (_task, { signal }) => {
    started.resolve(signal);
    return finished.promise;
  };
  return { handler, finish: finished.resolve, started: started.promise };
}

describe('a client and an agent', () => {
  test.each([
    ['with signed pushes', { listen: {}, pushSecret: PUSH_SECRET }],
    ['with claims', {}],
  ])('%s, complete fifty tasks at once', async (title, options) => {
    const agentId = `worker ${title}`;
    await startAgent(agentId, {
      ...options,
      maxConcurrent: 60,
      handler: async ({ payload }, { reply }) => {
        reply(`收到 ${payload.n}`);
        return { output: `完成 ${payload.n}`, extra: [payload.n] };
      },
    });
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    const tasks = await Promise.all(numbers.map((n) => client.runTask(submissionFor(agentId, { n }))));
    expect(tasks.map(({ result }) => result)).toEqual(
      numbers.map((n) => ({ reply: `收到 ${n}`, output: `完成 ${n}`, extra: [n] })),
    );
    expect(new Set(tasks.map(({ request_id }) => request_id)).size).toBe(50);
  });

  test('with different push secrets: the push is rejected', async () => {
    await startAgent('wrong-secret', { listen: {}, pushSecret: 'another-secret', handler: () => 'never' });
    const task = await client.submitTask(submissionFor('wrong-secret'));
    await until(async () => {
      const { agents: all } = await client.listAgents();
      return all.find(({ agent_id }) => agent_id === 'wrong-secret')?.push.last_status === 401;
    }, 'the push was rejected');
    await client.cancelTask(task.request_id);
  });

  test('that starts later: it gets the pending task', async () => {
    const run = client.runTask({ ...submissionFor('late'), queue_timeout: 30 });
    await startAgent('late', { handler: () => 'here I am' });
    expect((await run).result).toEqual({ output: 'here I am' });
  });
});

describe('an agent whose task is cancelled', () => {
  test('learns it from its next heartbeat or report, and the client from an error', async () => {
    const stopped = Promise.withResolvers<unknown>();
    await startAgent('slow', {
      handler: (_task, { signal, progress }) =>
        new Promise((_resolve, reject) => {
          let percent = 0;
          const working = setInterval(() => progress(Math.min(99, ++percent)), 20);
          signal.addEventListener('abort', () => {
            clearInterval(working);
            stopped.resolve(signal.reason);
            reject(signal.reason);
          });
        }),
    });
    const controller = new AbortController();
    const run = client.runTask(submissionFor('slow'), {
      signal: controller.signal,
      cancelOnAbort: true,
      onProgress: ({ progress }) => progress > 0 && controller.abort(),
    });
    await expect(run).rejects.toMatchObject({ name: 'AbortError' });
    expect(await stopped.promise).toBeInstanceOf(Error);
  });
});

describe('a gateway that is killed and restarted', () => {
  test('loses nothing: the run, the subscription and the agent continue', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'task-gateway-story-'));
    const settings = { ...SETTINGS, STORE: `sqlite:${join(folder, 'gateway.db')}` };
    let restarted = await startGateway(settings);
    const { baseUrl } = restarted;
    const own = createClient({ baseUrl, auth: AUTH });
    const waiting = createWaitingHandler();
    const events = own.subscribeEvents('生死');
    try {
      await startAgent('survivor', { baseUrl, maxConcurrent: 2, handler: waiting.handler });
      const seen: string[] = [];
      const watching = (async () => {
        for await (const { request_id } of events) if (seen.push(request_id) === 2) return;
      })();
      const failed = await own.submitTask({ ...submissionFor('unassigned'), cli_session_id: '生死' });
      await until(() => seen.length === 1, 'the first event is seen');
      const run = own.runTask({ ...submissionFor('survivor'), cli_session_id: '生死' });
      await waiting.started;
      await restarted.kill();
      waiting.finish('从灰烬中');
      restarted = await startGateway({ ...settings, PORT: new URL(baseUrl).port });
      const { request_id, result } = await run;
      expect(result).toEqual({ output: '从灰烬中' });
      await watching;
      expect(seen).toEqual([failed.request_id, request_id]);
    } finally {
      events.close();
      await Promise.all(agents.splice(0).map((agent) => agent.stop({ drainMs: 0 })));
      await restarted.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('an error response of the gateway is a typed error', () => {
  test('a wrong secret', async () => {
    const wrongClient = createClient({
      baseUrl: gateway.baseUrl,
      auth: 'wrong-secret',
      adminAuth: 'wrong-admin',
    });
    const expected = { name: 'AuthenticationError', code: 'unauthorized' };
    await expect(wrongClient.submitTask(submissionFor('x'))).rejects.toMatchObject(expected);
    await expect(wrongClient.getTask('x')).rejects.toMatchObject(expected);
    await expect(wrongClient.listAgents()).rejects.toMatchObject(expected);
    await expect(wrongClient.runTask(submissionFor('x'))).rejects.toMatchObject(expected);
    const first = async () => {
      for await (const event of wrongClient.subscribeEvents('s')) return event;
      return undefined;
    };
    await expect(first()).rejects.toMatchObject(expected);
  });

  test('an id that does not exist', async () => {
    const expected = { name: 'NotFoundError' };
    await expect(client.getTask('不存在/?')).rejects.toMatchObject({ ...expected, code: 'task_not_found' });
    await expect(client.cancelTask('nothing')).rejects.toMatchObject({ ...expected, code: 'task_not_found' });
    await expect(client.heartbeatAgent({ agent_id: 'unassigned' })).rejects.toMatchObject({
      ...expected,
      code: 'agent_not_found',
    });
  });

  test('wrong fields, each named', async () => {
    const call = client.submitTask({ ...submissionFor('x'), timeout: -1, task_type: '' });
    await expect(call).rejects.toMatchObject({
      name: 'ValidationError',
      errors: expect.arrayContaining([
        expect.objectContaining({ pointer: '/timeout' }),
        expect.objectContaining({ pointer: '/task_type' }),
      ]),
    });
  });

  test('the cancellation of a task in a terminal state', async () => {
    const submission = { ...submissionFor('unassigned'), queue_timeout: 0 };
    const { task } = await client.runTask(submission).catch((error) => error);
    await expect(client.cancelTask(task.request_id)).rejects.toMatchObject({
      name: 'BadRequestError',
      code: 'task_terminal',
    });
  });

  test('an idempotency key with other content; the same content finds the same task', async () => {
    const options = { idempotencyKey: 'story-1' };
    const first = await client.submitTask(submissionFor('unassigned', { n: 1 }), options);
    expect(await client.submitTask(submissionFor('unassigned', { n: 1 }), options)).toEqual(first);
    await expect(client.submitTask(submissionFor('unassigned', { n: 2 }), options)).rejects.toMatchObject({
      name: 'ValidationError',
      code: 'idempotency_conflict',
    });
  });
});

test('Of two hundred runs on a hundred slots none fails: they wait for an agent by default.', async () => {
  const handler = async () => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    return 'done';
  };
  await startAgent('full', { maxConcurrent: 100, handler, listen: {}, pushSecret: PUSH_SECRET });
  const runs = Array.from({ length: 200 }, () => client.runTask(submissionFor('full')));
  const outputs = (await Promise.all(runs)).map(({ result }) => result.output);
  expect(outputs).toEqual(Array.from({ length: 200 }, () => 'done'));
});

test('The administrator sees agents and tasks.', async () => {
  await startAgent('seen', { maxConcurrent: 3, handler: () => 'ok' });
  const { request_id } = await client.runTask({ ...submissionFor('seen'), cli_session_id: 'listed' });
  const { agents: all } = await client.listAgents();
  expect(all).toContainEqual(
    expect.objectContaining({ agent_id: 'seen', state: 'ready', max_concurrent: 3, full: false }),
  );
  const { tasks } = await client.listTasks({ session: 'listed', status: ['success'] });
  expect(tasks.map((task) => task.request_id)).toEqual([request_id]);
});
