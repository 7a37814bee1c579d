/** What tests of users stand on: clients and agents in a simulated world, in real time, and `runHandler`. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Agent, type AgentOptions, createAgent, WorkStoppedError } from '../../sdk/agent/index.ts';
import { createClient } from '../../sdk/index.ts';
import { runHandler } from '../../sdk/testing/index.ts';
import { createSimulatedGateway, type SimulatedGateway } from './simulated-gateway.ts';

const agents: Agent[] = [];
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop({ drainMs: 0, graceMs: 0 })));
});

async function startAgent(gateway: SimulatedGateway, options: Partial<AgentOptions> = {}): Promise<Agent> {
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

describe('a simulated gateway', () => {
  test.each(['pull', 'http://agent.test/tasks'])(
    'gives an agent the trace of a task: %s',
    async (endpoint) => {
      const gateway: SimulatedGateway = createSimulatedGateway({
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
        // A push without a trace begins one.
        [endpoint === 'pull' ? undefined : expect.stringMatching(/^00-/), undefined],
      ]);
    },
  );
});

describe('a handler run by runHandler', () => {
  test('gets a task and a context, and its outcome is returned', async () => {
    const outcome = await runHandler(
      async ({ payload }, { progress, reply, write }) => {
        progress(10);
        progress(50);
        reply('收到');
        await write('Seite 1');
        await write({ page: 1 });
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
      output: ['Seite 1', { page: 1 }],
      questions: [],
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
});
