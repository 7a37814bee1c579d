/** Agents of a world: each behaviour of a scripted one, and an agent of the SDK in the world's time. */
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { createClient } from '../../sdk/index.ts';
import { type AgentScript, createSimulator } from '../../server/simulator/index.ts';

const TASK = { task_type: 't', task_tags: ['pdf'], payload: { text: '你好' } };

/** What becomes of a task when an agent of this script has so many seconds. */
async function watchTask(script: Omit<AgentScript, 'tags'>, seconds: number, more = {}) {
  const world = createSimulator();
  const client = createClient({ ...world.options });
  await world.agents.add({ tags: ['pdf'], ...script });
  const { request_id } = await client.submitTask({ ...TASK, ...more });
  await world.clock.advance(seconds);
  return { world, client, request_id, task: await client.getTask(request_id) };
}

describe('a scripted agent', () => {
  test('succeeds after its time with its result, and reports its progress on the way', async () => {
    const script = { does: 'succeed', after: 10, progress: [40], result: { output: 'x', pages: 3 } } as const;
    const { world, client, request_id, task } = await watchTask(script, 5);
    expect(task).toMatchObject({ status: 'running', progress: 40, agent_id: 'agent-1' });
    expect(world.agents.list()).toMatchObject([{ alive: true, request_ids: [request_id] }]);
    await world.clock.advance(5);
    expect(await client.getTask(request_id)).toMatchObject({ status: 'success', result: script.result });
    expect(world.agents.list()).toMatchObject([{ request_ids: [] }]);
  });

  test.each<[string, Omit<AgentScript, 'tags'>, number, object]>([
    ['fails', { does: 'fail', error_info: 'no data' }, 0, { status: 'failed', error_info: 'no data' }],
    ['reports progress only', { does: 'progress', progress: [10, 60], after: 4 }, 599, { progress: 60 }],
    ['never answers its push', { does: 'never_answer' }, 5, { status: 'running', progress: 0 }],
    ['goes silent', { does: 'go_silent' }, 500, { status: 'running', progress: 0 }],
    ['goes silent, and is lost', { does: 'go_silent', lost_after: 20 }, 40, { error_info: /lost/ }],
    ['reports twice', { does: 'report_twice' }, 0, { status: 'success' }],
    ['reports late', { does: 'report_late', after: 5 }, 700, { status: 'failed', error_info: 'timeout' }],
    ['dies', { does: 'die', after: 30 }, 599, { status: 'running', progress: 50 }],
    ['dies earlier', { does: 'die', after: 30, at: 20 }, 600, { error_info: 'timeout', progress: 20 }],
  ])('%s', async (_name, script, seconds, expected) => {
    const { task } = await watchTask(script, seconds);
    const wanted = Object.entries(expected).map(([name, value]) => [
      name,
      value instanceof RegExp ? expect.stringMatching(value) : value,
    ]);
    expect(task).toMatchObject(Object.fromEntries(wanted));
  });

  test('writes its output while it works, which a reader follows and a run gets', async () => {
    const world = createSimulator();
    const client = createClient({ ...world.options });
    const output = ['Page 1. ', { page: 1 }, 'Page 2. '];
    await world.agents.add({ tags: ['pdf'], after: 8, output });
    const got: unknown[] = [];
    const run = client.runTask(TASK, { onOutput: ({ text, data, end }) => got.push(text ?? data ?? end) });
    const { request_id } = await world.clock.runUntil(run);
    expect(got).toEqual([...output, true]);
    const read: unknown[] = [];
    for await (const { text, data } of client.readOutput(request_id, { follow: false }))
      read.push(text ?? data);
    expect(read).toEqual([...output, undefined]);
  });

  test('another process of an agent that works on the task again is another writer', async () => {
    const { world, client, request_id } = await watchTask(
      { does: 'die', after: 10, output: ['in vain'] },
      11,
    );
    await world.agents.add({ tags: ['pdf'], agent_id: 'agent-1', output: ['anew'] });
    await world.clock.advance(60);
    const read: unknown[] = [];
    for await (const { text, reset, end } of client.readOutput(request_id)) read.push(text ?? reset ?? end);
    expect(read).toEqual(['in vain', true, 'anew', true]);
  });

  test('refuses its push: another agent gets the task', async () => {
    const world = createSimulator();
    const client = createClient({ ...world.options });
    await world.agents.add({ tags: ['pdf'], agent_id: 'full', does: 'refuse', retry_after: 3 });
    const { request_id } = await client.submitTask(TASK);
    await world.agents.add({ tags: ['pdf'], agent_id: 'free' });
    await world.clock.advance(30);
    expect(await client.getTask(request_id)).toMatchObject({ status: 'success', agent_id: 'free' });
  });

  test('stops a task that was cancelled, and is unknown once it is removed', async () => {
    const { world, client, request_id } = await watchTask({ does: 'progress' }, 0);
    await client.cancelTask(request_id);
    await world.clock.advance(16);
    expect(await world.agents.remove('agent-1')).toBe(true);
    expect(await world.agents.remove('agent-1')).toBe(false);
    expect(world.agents.list()).toEqual([]);
    await expect(client.heartbeatAgent({ agent_id: 'agent-1' })).rejects.toMatchObject({ status: 404 });
  });

  test('that is not as the document says, or that the gateway refuses, says why', async () => {
    const world = createSimulator({ agentsMax: 1 });
    const wrong = { tags: ['pdf'], does: 'sleep' as never, max_concurrent: -1 };
    const refused = world.agents.add(wrong);
    await expect(refused).rejects.toThrow(TypeError);
    await expect(refused).rejects.toThrow(/`\/max_concurrent` must .*`\/does` must be one of succeed, fail/);
    await world.agents.add({ tags: ['pdf'] });
    await expect(world.agents.add({ tags: ['pdf'] })).rejects.toThrow(/not registered: 503/);
    expect(world.agents.list()).toHaveLength(1);
  });
});

describe('an agent of the SDK', () => {
  test.each(['pull', 'http://agent.test/tasks'])('works in the world’s time: %s', async (endpoint) => {
    const world = createSimulator({ pushSecrets: ['a-secret-that-signs'] });
    const client = createClient({ ...world.options });
    const agent = createAgent({
      ...world.options,
      endpoint,
      tags: ['pdf'],
      pushSecret: 'a-secret-that-signs',
      handler: async ({ payload }) => {
        await world.clock.sleep(120_000);
        return `${payload.text}！`;
      },
    });
    world.agents.handle('http://agent.test/tasks', (request) => agent.fetch(request));
    await agent.start();
    const { result } = await world.clock.runUntil(client.runTask(TASK));
    expect(result).toEqual({ output: '你好！' });
    expect(world.clock.monotonicMs()).toBeGreaterThanOrEqual(120_000);
    await agent.stop();
  });
});
