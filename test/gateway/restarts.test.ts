/** Agents that come back: what they had and do not name is pushed again, whenever the answer of an earlier push comes. */
import { describe, expect, test } from 'vitest';
import { TAKEN } from '../harness/fake-pusher.ts';
import { STORES } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, type World } from '../harness/world.ts';
import { useWorlds } from '../harness/worlds.ts';

async function submit(world: World): Promise<string> {
  const { request_id } = await world.gateway.submitTask(buildSubmission());
  await world.settle();
  return request_id;
}

describe.each(STORES)('on %s', (_name, open) => {
  const start = useWorlds(open);

  test('a restarted agent is pushed again what it had acknowledged and does not name', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3 }));
    const lost = await submit(world);
    const kept = await submit(world);
    expect(world.pusher.sent).toHaveLength(2);
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3, request_ids: [kept] }));
    await world.pass(1_000);
    expect(world.pusher.sent.slice(2).map(({ task }) => task.request_id)).toEqual([lost]);
  });

  test('what an agent that came down takes while its successor registers is pushed to the successor', async () => {
    const world = await start();
    const before = 'http://before.test/tasks';
    world.pusher.script(before, 'hang');
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: before, max_concurrent: 3 }));
    const request_id = await submit(world);
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3, request_ids: [] }));
    await world.pass(2_000);
    expect(world.pusher.sent).toHaveLength(1);
    expect(world.pusher.answer(before, TAKEN)).toBe(1);
    await world.pass(1_000);
    expect(world.pusher.sent.map(({ endpoint, task }) => [new URL(endpoint).host, task.request_id])).toEqual([
      ['before.test', request_id],
      ['a.test', request_id],
    ]);
    await world.pass(30_000);
    expect(world.pusher.sent).toHaveLength(2);
  });

  test('a push under way when an agent registers without a list counts as it is answered', async () => {
    const world = await start();
    const before = 'http://before.test/tasks';
    world.pusher.script(before, 'hang');
    await world.gateway.registerAgent(buildRegistration('A', { endpoint: before }));
    await submit(world);
    await world.gateway.registerAgent(buildRegistration('A'));
    world.pusher.answer(before, TAKEN);
    await world.pass(30_000);
    expect(world.pusher.sent).toHaveLength(1);
  });
});
