/** Stories over the real gateway, a process of its own: what a person builds with the kit, from end to end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, type AgentOptions, createAgent, type HandlerAnswer } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient, type TaskSubmission } from '../../sdk/index.ts';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { until } from './kit-clock.ts';

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

/** A handler whose tasks wait until the test lets them end. */
function createGate() {
  const gate = Promise.withResolvers<HandlerAnswer>();
  const begun = Promise.withResolvers<AbortSignal>();
  const handler: AgentOptions['handler'] = (_task, { signal }) => {
    begun.resolve(signal);
    return gate.promise;
  };
  return { handler, open: gate.resolve, begun: begun.promise };
}

describe('a client and an agent', () => {
  test.each([
    ['which is pushed its tasks, signed', { listen: {}, pushSecret: PUSH_SECRET }],
    ['which claims its tasks', {}],
  ])('%s, do fifty tasks at once', async (title, options) => {
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

  test('whose signature secret is another get no task: the push is refused', async () => {
    await startAgent('stranger', { listen: {}, pushSecret: 'another secret', handler: () => 'never' });
    const task = await client.submitTask(submissionFor('stranger'));
    await until(async () => {
      const { agents: all } = await client.listAgents();
      return all.find(({ agent_id }) => agent_id === 'stranger')?.push.last_status === 401;
    }, 'the push was refused');
    await client.cancelTask(task.request_id);
  });

  test('which comes later still gets a task that waits for it', async () => {
    const run = client.runTask({ ...submissionFor('late'), queue_timeout: 30 });
    await startAgent('late', { handler: () => 'here I am' });
    expect((await run).result).toEqual({ output: 'here I am' });
  });
});

describe('an agent whose task is cancelled', () => {
  test('is told by its next heartbeat or report, and the client by an error', async () => {
    const stopped = Promise.withResolvers<unknown>();
    await startAgent('patient', {
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
    const run = client.runTask(submissionFor('patient'), {
      signal: controller.signal,
      cancelOnAbort: true,
      onProgress: ({ progress }) => progress > 0 && controller.abort(),
    });
    await expect(run).rejects.toMatchObject({ name: 'AbortError' });
    expect(await stopped.promise).toBeInstanceOf(Error);
  });
});

describe('a gateway that is killed and comes back', () => {
  test('loses nothing: the run, the subscription and the agent go on', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'task-gateway-story-'));
    const settings = { ...SETTINGS, STORE: `sqlite:${join(folder, 'gateway.db')}` };
    let mortal = await startGateway(settings);
    const { baseUrl } = mortal;
    const own = createClient({ baseUrl, auth: AUTH });
    const gate = createGate();
    const events = own.subscribeEvents('生死');
    try {
      await startAgent('phoenix', { baseUrl, maxConcurrent: 2, handler: gate.handler });
      const seen: string[] = [];
      const watching = (async () => {
        for await (const { request_id } of events) if (seen.push(request_id) === 2) return;
      })();
      const failed = await own.submitTask({ ...submissionFor('nobody'), cli_session_id: '生死' });
      await until(() => seen.length === 1, 'the first event is seen');
      const run = own.runTask({ ...submissionFor('phoenix'), cli_session_id: '生死' });
      await gate.begun;
      await mortal.kill();
      gate.open('从灰烬中');
      mortal = await startGateway({ ...settings, PORT: new URL(baseUrl).port });
      const { request_id, result } = await run;
      expect(result).toEqual({ output: '从灰烬中' });
      await watching;
      expect(seen).toEqual([failed.request_id, request_id]);
    } finally {
      events.close();
      await Promise.all(agents.splice(0).map((agent) => agent.stop({ drainMs: 0 })));
      await mortal.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  }, 60_000);
});

describe('what the gateway refuses is a typed error', () => {
  test('a wrong secret', async () => {
    const stranger = createClient({
      baseUrl: gateway.baseUrl,
      auth: 'wrong-secret',
      adminAuth: 'wrong-admin',
    });
    const refused = { name: 'AuthenticationError', code: 'unauthorized' };
    await expect(stranger.submitTask(submissionFor('x'))).rejects.toMatchObject(refused);
    await expect(stranger.getTask('x')).rejects.toMatchObject(refused);
    await expect(stranger.listAgents()).rejects.toMatchObject(refused);
    await expect(stranger.runTask(submissionFor('x'))).rejects.toMatchObject(refused);
    const first = async () => {
      for await (const event of stranger.subscribeEvents('s')) return event;
      return undefined;
    };
    await expect(first()).rejects.toMatchObject(refused);
  });

  test('what does not exist', async () => {
    const refused = { name: 'NotFoundError' };
    await expect(client.getTask('不存在/?')).rejects.toMatchObject({ ...refused, code: 'task_not_found' });
    await expect(client.cancelTask('nothing')).rejects.toMatchObject({ ...refused, code: 'task_not_found' });
    await expect(client.heartbeatAgent({ agent_id: 'nobody' })).rejects.toMatchObject({
      ...refused,
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

  test('a task that has ended, when it is cancelled', async () => {
    const { task } = await client.runTask(submissionFor('nobody')).catch((error) => error);
    await expect(client.cancelTask(task.request_id)).rejects.toMatchObject({
      name: 'BadRequestError',
      code: 'task_terminal',
    });
  });

  test('an idempotency key with another content; the same content finds the same task', async () => {
    const options = { idempotencyKey: 'story-1' };
    const first = await client.submitTask(submissionFor('nobody', { n: 1 }), options);
    expect(await client.submitTask(submissionFor('nobody', { n: 1 }), options)).toEqual(first);
    await expect(client.submitTask(submissionFor('nobody', { n: 2 }), options)).rejects.toMatchObject({
      name: 'ValidationError',
      code: 'idempotency_conflict',
    });
  });
});

test('The administrator sees agents and tasks.', async () => {
  await startAgent('seen', { maxConcurrent: 3, handler: () => 'ok' });
  const { request_id } = await client.runTask({ ...submissionFor('seen'), cli_session_id: 'listed' });
  const { agents: all } = await client.listAgents();
  expect(all).toContainEqual(
    expect.objectContaining({ agent_id: 'seen', state: 'ready', max_concurrent: 3, full: false }),
  );
  const { tasks } = await client.listTasks({ session: 'listed', status: 'success' });
  expect(tasks.map((task) => task.request_id)).toEqual([request_id]);
});
