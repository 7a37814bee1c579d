/** What registering, unregistering and losing contact do to an agent's tasks and to those that wait. */
import { expect, test } from 'vitest';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { BROKEN, REFUSED, SIGNATURE_REFUSED, TAKEN } from '../harness/fake-pusher.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, NEVER } from '../harness/world.ts';
import { agentOf, read, submitLong as submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

const A = 'http://A.test/tasks';

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  test('a task whose agent registered again neither blocks other waiting tasks nor is pushed faster', async () => {
    const world = await start();
    world.pusher.script(A, REFUSED);
    await world.gateway.registerAgent(buildRegistration('A'));
    const bound = await submit(world);
    await world.gateway.unregisterAgent('A');
    await world.pass(2_000);
    world.pusher.script(A, BROKEN);
    await world.gateway.registerAgent(buildRegistration('A'));
    await world.pass(2_000);
    const waiting = await submit(world, { queue_timeout: 600 });
    const pushes = world.pusher.sent.length;
    await world.gateway.registerAgent(buildRegistration('B'));
    await world.pass(60_000);
    expect(await read(world, waiting)).toMatchObject({ status: 'running', agent_id: 'B' });
    expect(await read(world, bound)).toMatchObject({ status: 'running', agent_id: 'A' });
    expect(world.pusher.sent.length - pushes).toBeLessThan(10);
  });

  test.each([
    ['while its first push is still open', A],
    ['as a pull agent', 'pull'],
  ])(
    'a task whose agent registered again %s does not block other waiting tasks and is not pushed again',
    async (_how, endpoint) => {
      const world = await start();
      world.pusher.script(A, 'hang');
      await world.gateway.registerAgent(buildRegistration('A', { endpoint }));
      const bound = await submit(world);
      if (endpoint === 'pull') await world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER);
      await world.gateway.unregisterAgent('A');
      await world.pass(95_000);
      await world.gateway.registerAgent(buildRegistration('A', { endpoint }));
      await world.pass(2_000);
      const waiting = await submit(world, { queue_timeout: 600 });
      await world.gateway.registerAgent(buildRegistration('B'));
      await world.pass(5_000);
      expect(await read(world, waiting)).toMatchObject({ status: 'running', agent_id: 'B' });
      expect(await read(world, bound)).toMatchObject({ status: 'running', agent_id: 'A' });
      expect(world.pusher.sent.filter((push) => push.endpoint === A).length).toBeLessThanOrEqual(1);
    },
  );

  test('the overview names the secret and the clock of an agent that refuses pushes with 401', async () => {
    const world = await start();
    world.pusher.script(A, SIGNATURE_REFUSED);
    await world.gateway.registerAgent(buildRegistration('A'));
    await submit(world);
    await world.pass(4_000);
    const [problem] = (await world.gateway.getOverview(100)).problems;
    expect(problem?.text).toMatch(/^Pushes to `A` fail: answered 401: signature refused, \d times\.$/);
    expect(problem?.help).toContain(
      'Compare its push secret with `PUSH_SECRET` of the gateway, and its clock',
    );
  });

  test('an agent that unregisters keeps its tasks, its turn and what it must drop', async () => {
    const world = await start();
    for (const agent_id of ['A', 'B']) {
      await world.gateway.registerAgent(buildRegistration(agent_id, { max_concurrent: 9 }));
      await world.pass(1_000);
    }
    const first = await submit(world);
    expect((await read(world, first)).agent_id).toBe('A');
    await world.gateway.cancelTask(first);
    await world.gateway.unregisterAgent('A');
    const again = await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 9 }));
    expect(again.cancelled_request_ids).toEqual([first]);
    // `A` has the smaller id, and was given a task less recently only if that were forgotten.
    expect((await read(world, await submit(world))).agent_id).toBe('B');
  });

  test('an agent without contact loses the tasks it had, not one that it was assigned a moment ago', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { lost_after: 30 }));
    for (let beats = 0; beats < 2; beats += 1) {
      await world.gateway.heartbeatAgent({ agent_id: 'A' });
      await world.pass(400);
    }
    const earlier = await submit(world);
    const waitingIds = [];
    for (let n = 0; n < 4; n += 1) waitingIds.push(await submit(world, { queue_timeout: 600 }));
    world.pusher.script(A, REFUSED);
    await world.pass(50_000);
    expect((await read(world, earlier)).error_info).toMatch(/^agent lost/);
    await world.pass(60_000);
    for (const id of waitingIds) {
      expect(await read(world, id)).toMatchObject({ status: 'pending', error_info: null });
    }
    expect(await agentOf(world, 'A')).toMatchObject({ state: 'offline', eligible: false });
    await world.gateway.heartbeatAgent({ agent_id: 'A' });
    await world.pass(2_000);
    expect(await read(world, waitingIds[0] ?? '')).toMatchObject({ status: 'running', agent_id: 'A' });
  });

  test('an agent without heartbeats that registers again is not offline for a push that failed before', async () => {
    const world = await start();
    world.pusher.script(A, REFUSED);
    await world.gateway.registerAgent(buildRegistration('A'));
    await submit(world, { timeout: 5 });
    await world.pass(6_000);
    world.pusher.script(A, TAKEN);
    await world.gateway.registerAgent(buildRegistration('A'));
    await world.pass(400_000);
    expect(await agentOf(world, 'A')).toMatchObject({ state: 'ready', eligible: true });
  });

  test('a waiting claim returns no task once its agent is unregistered, and does not poll the store', async () => {
    let reads = 0;
    const world = await start({
      wrap: (store) => ({
        ...store,
        getAgentStatus: (agent_id) => {
          reads += 1;
          return store.getAgentStatus(agent_id);
        },
      }),
    });
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull' }));
    await submit(world);
    expect(await world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER)).not.toBeNull();
    const claim = world.gateway.claimTask({ agent_id: 'A', wait: 40 }, NEVER);
    await world.pass(5_000);
    await world.gateway.unregisterAgent('A');
    await world.pass(36_000);
    expect(await claim).toBeNull();
    expect(reads).toBeLessThan(1_000);
  });

  test('a pull agent that claims nothing ranks last among the candidates until it claims', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull' }));
    await world.gateway.registerAgent(buildRegistration('B', { current_load: 1, max_concurrent: 9 }));
    const first = await submit(world);
    expect(await read(world, first)).toMatchObject({ agent_id: 'A' });
    await world.pass(12_000);
    expect(await read(world, first)).toMatchObject({ agent_id: 'B' });
    expect(await read(world, await submit(world))).toMatchObject({ agent_id: 'B' });
    await world.gateway.unregisterAgent('B');
    const claimed = await submit(world);
    expect(await world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER)).toMatchObject({
      request_id: claimed,
    });
    await world.gateway.reportResult({ request_id: claimed, agent_id: 'A', status: 'success' });
    await world.gateway.registerAgent(buildRegistration('B', { current_load: 1, max_concurrent: 9 }));
    expect(await read(world, await submit(world))).toMatchObject({ agent_id: 'A' });
  });

  test('an acknowledgement is stored even if its contact cannot be recorded', async () => {
    let failing = false;
    const world = await start({
      wrap: (store) => ({
        ...store,
        touch: (agent_id, touch) =>
          failing && touch.by === 'push'
            ? Promise.reject(new StoreUnavailable('planned outage'))
            : store.touch(agent_id, touch),
      }),
    });
    await world.gateway.registerAgent(buildRegistration('A'));
    failing = true;
    await submit(world);
    failing = false;
    await world.pass(60_000);
    expect(world.pusher.sent).toHaveLength(1);
  });
});
