/** How a pull agent gets its tasks: which task, which of its claims, how long it has. */
import { expect, test } from 'vitest';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, NEVER } from '../harness/world.ts';
import { read, submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

describeEachStore('on %s, a pull agent', (_name, open) => {
  const start = useWorlds(open);

  test('claims its oldest task once, and again after 15 s without acknowledgement', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull', max_concurrent: 2 }));
    const first = await submit(world);
    const second = await submit(world);
    const claim = () => world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER);
    expect(await claim()).toMatchObject({ request_id: first, status: 'running', agent_id: 'A' });
    expect(await claim()).toMatchObject({ request_id: second });
    expect(await claim()).toBeNull();
    await world.gateway.heartbeatAgent({ agent_id: 'A', request_ids: [second] });
    await world.pass(15_200);
    expect(await claim()).toMatchObject({ request_id: first });
    expect(await claim()).toBeNull();
    expect(world.pusher.sent).toEqual([]);
  });

  test('does not get a task whose deadline is over, although nothing has ended the task yet', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull' }));
    const id = await submit(world, { timeout: 5 });
    await world.clock.advance(5_000);
    expect(await read(world, id)).toMatchObject({ status: 'running' });
    expect(await world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER)).toBeNull();
  });

  test('gets a task with the claim that has waited longest', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull' }));
    const claims: Promise<{ readonly request_id: string } | null>[] = [];
    for (const _ of [1, 2, 3]) {
      claims.push(world.gateway.claimTask({ agent_id: 'A', wait: 12 }, NEVER));
      await world.pass(1_000);
    }
    const id = await submit(world);
    await world.pass(13_000);
    const claimed = await Promise.all(claims);
    expect(claimed.map((task) => task?.request_id)).toEqual([id, undefined, undefined]);
  });

  test('gets at once, with as many claims, more tasks than are handed out together', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull', max_concurrent: 20 }));
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push(await submit(world));
    const beginMs = world.clock.nowMs();
    const claimAll = () =>
      Promise.all(ids.map(() => world.gateway.claimTask({ agent_id: 'A', wait: 20 }, NEVER)));
    await world.clock.drive(claimAll());
    // None is acknowledged: all may be handed out again at the same time, of which nothing notifies.
    const claiming = claimAll();
    await world.pass(15_000);
    const claimed = await world.clock.drive(claiming);
    expect(claimed.map((task) => task?.request_id).sort()).toEqual([...ids].sort());
    expect(world.clock.nowMs() - beginMs).toBeLessThan(15_500);
  });

  test('waits for a task and claims it when it is submitted', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull' }));
    const claim = world.gateway.claimTask({ agent_id: 'A', wait: 30 }, NEVER);
    await world.pass(5_000);
    const id = await submit(world);
    expect(await claim).toMatchObject({ request_id: id });
    const claimInVain = world.gateway.claimTask({ agent_id: 'A', wait: 10 }, NEVER);
    await world.pass(10_400);
    expect(await claimInVain).toBeNull();
  });

  test('loses a task to another agent when it has not claimed it for ten seconds', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull' }));
    const id = await submit(world);
    await world.gateway.registerAgent(buildRegistration('B'));
    await world.pass(9_600);
    expect(await read(world, id)).toMatchObject({ agent_id: 'A' });
    await world.pass(2_000);
    expect(await read(world, id)).toMatchObject({ agent_id: 'B' });
  });
});
