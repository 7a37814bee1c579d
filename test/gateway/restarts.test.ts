/**
 * Agents that register again: tasks they had and do not name are pushed again, whenever an earlier push is
 * responded to.
 */
import { expect, test } from 'vitest';
import { TAKEN } from '../harness/fake-pusher.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, type World } from '../harness/world.ts';
import { useWorlds } from '../harness/worlds.ts';

async function submit(world: World): Promise<string> {
  const { request_id } = await world.gateway.submitTask(buildSubmission());
  await world.runUntilIdle();
  return request_id;
}

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  test('an acknowledged task that its restarted agent does not name is pushed to it again', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3 }));
    const lost = await submit(world);
    const kept = await submit(world);
    expect(world.pusher.sent).toHaveLength(2);
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3, request_ids: [kept] }));
    await world.pass(1_000);
    expect(world.pusher.sent.slice(2).map(({ task }) => task.request_id)).toEqual([lost]);
  });

  test('a task that the old process takes after its successor registered is pushed to the successor', async () => {
    const world = await start();
    const before = 'http://before.test/tasks';
    world.pusher.script(before, 'hang');
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: before, max_concurrent: 3 }));
    const request_id = await submit(world);
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3, request_ids: [] }));
    await world.pass(2_000);
    expect(world.pusher.sent).toHaveLength(1);
    expect(world.pusher.respond(before, TAKEN)).toBe(1);
    await world.pass(1_000);
    expect(world.pusher.sent.map(({ endpoint, task }) => [new URL(endpoint).host, task.request_id])).toEqual([
      ['before.test', request_id],
      ['a.test', request_id],
    ]);
    await world.pass(30_000);
    expect(world.pusher.sent).toHaveLength(2);
  });

  test('a push under way while its agent registers without naming tasks counts by its response', async () => {
    const world = await start();
    const before = 'http://before.test/tasks';
    world.pusher.script(before, 'hang');
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: before }));
    await submit(world);
    await world.gateway.registerAgent(buildRegistration('A'));
    world.pusher.respond(before, TAKEN);
    await world.pass(30_000);
    expect(world.pusher.sent).toHaveLength(1);
  });
});
