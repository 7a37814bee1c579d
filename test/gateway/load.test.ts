/** What an agent's load is, and whom a task is assigned to because of it. */
import { expect, test } from 'vitest';
import { isAdmission, StoreRefused } from '../../server/ports/store.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, type World } from '../harness/world.ts';
import { agentOf, read, submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

describeEachStore('the load on %s', (_name, open) => {
  const start = useWorlds(open);

  test('external load counts against the capacity until the agent reports another', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 2, current_load: 2 }));
    expect(await agentOf(world, 'A')).toMatchObject({
      full: true,
      eligible: false,
      current_load: 2,
      state: 'ready',
    });
    expect(await read(world, await submit(world))).toMatchObject({ status: 'failed' });
    await world.gateway.heartbeatAgent({ agent_id: 'A', current_load: 1 });
    const id = await submit(world);
    expect(await read(world, id)).toMatchObject({ status: 'running' });
    expect(await agentOf(world, 'A')).toMatchObject({
      full: true,
      current_load: 2,
      running: 1,
      state: 'processing',
    });
    await world.gateway.heartbeatAgent({ agent_id: 'A', current_load: 1, request_ids: [id] });
    expect(await agentOf(world, 'A')).toMatchObject({ full: false, current_load: 1, running: 1 });
  });

  /** Runs a task of the agent and reports its result. */
  async function finish(world: World, agent_id: string): Promise<void> {
    const request_id = await submit(world);
    const report = { request_id, agent_id, status: 'success' } as const;
    expect(await world.gateway.reportResult(report)).toMatchObject({ accepted: true });
    await world.runUntilIdle();
  }

  test.each([
    ['a heartbeat', (world: World) => world.gateway.heartbeatAgent({ agent_id: 'A', current_load: 1 })],
    [
      'a registration',
      (world: World) => world.gateway.registerAgent(buildRegistration('A', { current_load: 1 })),
    ],
  ])(
    'a task that %s still counts, because its report has just arrived, is no external load',
    async (_name, send) => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A'));
      await finish(world, 'A');
      await send(world);
      expect(await agentOf(world, 'A')).toMatchObject({ full: false, current_load: 0, eligible: true });
      await finish(world, 'A');
      // Its response is there by now, so the agent has counted something else.
      await world.pass(5_200);
      await send(world);
      expect(await agentOf(world, 'A')).toMatchObject({ full: true, current_load: 1 });
    },
  );

  test('a task that another agent has just reported is not taken for one of its own', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('B'));
    await finish(world, 'B');
    await world.gateway.registerAgent(buildRegistration('A'));
    await world.gateway.heartbeatAgent({ agent_id: 'A', current_load: 1 });
    expect(await agentOf(world, 'A')).toMatchObject({ full: true, current_load: 1, running: 0 });
  });

  test('external load stays as it is while results are reported, and follows what is certain', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 5, current_load: 2 }));
    await finish(world, 'A');
    const loadAfter = async (current_load: number, more = {}) => {
      await world.gateway.heartbeatAgent({ agent_id: 'A', current_load, ...more });
      return (await agentOf(world, 'A'))?.current_load;
    };
    expect(await loadAfter(2)).toBe(2);
    expect(await loadAfter(3)).toBe(2);
    expect(await loadAfter(4)).toBe(3);
    expect(await loadAfter(1)).toBe(1);
    expect(await loadAfter(2, { request_ids: [] })).toBe(2);
  });

  test('a burst never overfills an agent', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3 }));
    await Promise.all(Array.from({ length: 20 }, () => world.gateway.submitTask(buildSubmission())));
    await world.runUntilIdle();
    const { tasks } = await world.gateway.listTasks({ limit: 50 });
    expect(tasks.filter(({ status }) => status === 'running')).toHaveLength(3);
    expect(tasks.filter(({ error_info }) => error_info === '无可用 Agent')).toHaveLength(17);
  });

  test('a submission that is refused takes no slot of the agent that it would have had', async () => {
    const world = await start({ openTasksMax: 1 });
    await world.gateway.registerAgent(buildRegistration('A'));
    await submit(world, { task_tags: ['other'], queue_timeout: 600 });
    const refused = world.gateway.submitTask(buildSubmission());
    await expect(world.clock.drive(refused)).rejects.toMatchObject({ code: 'busy' });
    expect(world.figures.agents()).toMatchObject({ usedSlots: 0, freeSlots: 1 });
  });

  test('an agent with max_concurrent 0 gets no task', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 0 }));
    expect(await agentOf(world, 'A')).toMatchObject({ full: true, eligible: false });
    expect(await read(world, await submit(world))).toMatchObject({ status: 'failed' });
  });

  test('of agents that are alike the smallest id by UTF-16 code units gets the task', async () => {
    const world = await start();
    // By code points the second one is smaller.
    for (const agent_id of ['\u{1F600}', '\u{FF5E}'])
      await world.gateway.registerAgent(buildRegistration(agent_id));
    expect((await read(world, await submit(world))).agent_id).toBe('\u{1F600}');
  });

  test('a submission that the store refuses leaves no slot behind that the agent does not hold', async () => {
    let isFull = false;
    const world = await start({
      wrap: (store) => ({
        ...store,
        commit: async (batch) => {
          if (isFull && isAdmission(batch)) throw new StoreRefused('full');
          return await store.commit(batch);
        },
      }),
    });
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 10 }));
    await world.runUntilIdle();
    isFull = true;
    for (let n = 0; n < 25; n += 1)
      await expect(world.gateway.submitTask(buildSubmission())).rejects.toThrow(StoreRefused);
    await world.pass(1_000);
    expect(world.figures.agents()).toMatchObject({ usedSlots: 0, freeSlots: 10 });
  });
});
