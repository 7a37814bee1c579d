/** How long the agent of a task has been silent, as `explainTask` says it, and what follows when. */
import { expect, test } from 'vitest';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

const gpu = { task_tags: ['gpu'] };

async function register(world: World, agent_id: string, more = {}): Promise<void> {
  await world.gateway.registerAgent(buildRegistration(agent_id, { agent_tags: ['gpu'], ...more }));
  await world.runUntilIdle();
}

describeEachStore('on %s, the agent of a task', (_name, open) => {
  const start = useWorlds(open);
  const agentOf = async (world: World, id: string) => (await world.gateway.explainTask(id)).agent;

  test('is described with its silence, and what follows when; its next contact moves all of it', async () => {
    const world = await start();
    await register(world, 'gpu-a', { lost_after: 300 });
    const beat = () => world.gateway.heartbeatAgent({ agent_id: 'gpu-a' });
    await beat();
    const id = await submit(world, gpu);
    await world.pass(50_000);
    const silent = await agentOf(world, id);
    const contact = silent?.contact_time ?? 0;
    expect(silent).toEqual({
      agent_id: 'gpu-a',
      contact_time: expect.any(Number),
      silent_seconds: 50,
      silent_time: contact + 45,
      offline_time: contact + 90,
      lost_time: contact + 300,
    });
    await beat();
    expect(await agentOf(world, id)).toMatchObject({ silent_seconds: 0, contact_time: contact + 50 });
    await world.gateway.reportResult({ request_id: id, agent_id: 'gpu-a', status: 'success' });
    expect(await agentOf(world, id)).toBeNull();
  });

  test('that never sent a heartbeat and takes its pushes is not silent, however long it says nothing', async () => {
    const world = await start();
    await register(world, 'gpu-a');
    const id = await submit(world, gpu);
    await world.pass(200_000);
    expect(await agentOf(world, id)).toMatchObject({
      silent_time: null,
      offline_time: null,
      lost_time: null,
    });
  });

  test('and that was lost with it is described as it was then', async () => {
    const world = await start();
    await register(world, 'gpu-a', { lost_after: 60 });
    const id = await submit(world, gpu);
    await world.pass(65_000);
    const explanation = await world.gateway.explainTask(id);
    const ended = explanation.ended_time ?? 0;
    expect(explanation.agent).toMatchObject({ agent_id: 'gpu-a', silent_seconds: 60, lost_time: ended });
    expect(ended - (explanation.agent?.contact_time ?? 0)).toBeCloseTo(60, 3);
  });
});
