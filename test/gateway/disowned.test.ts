/** A task that its agent took and disowned: it registered again without naming it, so it has not taken it. */
import { expect, test } from 'vitest';
import type { PushOutcome } from '../../server/ports/pusher.ts';
import { type Store, StoreDamaged } from '../../server/ports/store.ts';
import { BROKEN, BUSY, REFUSED, TAKEN } from '../harness/fake-pusher.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, NEVER, type World } from '../harness/world.ts';
import {
  ownerOf,
  passOnline,
  pushesTo,
  registerAnswering as register,
  submitLong as submit,
  urlOf,
} from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

describeEachStore('on %s, a task that its agent disowned', (_name, open) => {
  const start = useWorlds(open);

  /** Submits a task that A takes; then A registers again without naming it, and responds like this. */
  async function disown(outcome: PushOutcome | undefined, more = {}): Promise<readonly [World, string]> {
    const world = await start();
    await register(world, 'A', TAKEN, more);
    const id = await submit(world);
    if ('endpoint' in more) await world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER);
    await passOnline(world, 30_000, 'A');
    await register(world, 'B', TAKEN);
    await register(world, 'A', outcome, { ...more, request_ids: [] });
    return [world, id];
  }

  test('stays so when an earlier process of the agent names it in a heartbeat', async () => {
    const world = await start();
    world.pusher.script(urlOf('A'), TAKEN);
    const { registration } = await world.gateway.registerAgent(buildRegistration('A'));
    const id = await submit(world);
    await world.runUntilIdle();
    world.pusher.script(urlOf('A'), BROKEN);
    const present = await world.gateway.registerAgent(buildRegistration('A', { request_ids: [] }));
    await world.runUntilIdle();
    const isAcknowledged = async () => (await world.store.get('task', id))?.value.delivery?.acknowledged;
    const beat = { agent_id: 'A', request_ids: [id] };
    await world.gateway.heartbeatAgent({ ...beat, registration });
    expect(await isAcknowledged()).toBe(false);
    await world.gateway.heartbeatAgent({ ...beat, registration: present.registration });
    expect(await isAcknowledged()).toBe(true);
  });

  test('is pushed to it again, and moves at once when it responds that it is busy', async () => {
    const [world, id] = await disown(BUSY);
    expect([await ownerOf(world, id), pushesTo(world, 'A')]).toEqual(['B', 2]);
  });

  test('moves after three attempts and ten seconds when it is not taken', async () => {
    const [world, id] = await disown(REFUSED);
    expect([await ownerOf(world, id), pushesTo(world, 'A')]).toEqual(['A', 2]);
    await passOnline(world, 4_000, 'A', 'B');
    expect([await ownerOf(world, id), pushesTo(world, 'A')]).toEqual(['B', 3]);
  });

  test('moves at once when its agent is unregistered, and not while an attempt since then is unknown', async () => {
    const [world, id] = await disown(REFUSED);
    await world.gateway.unregisterAgent('A');
    await world.runUntilIdle();
    expect(await ownerOf(world, id)).toBe('B');
    const [other, unknown] = await disown(BROKEN);
    await other.gateway.unregisterAgent('A');
    await passOnline(other, 80_000, 'B');
    expect(await ownerOf(other, unknown)).toBe('A');
  });

  test('is pushed again at once when the response to its open push is of no use any more', async () => {
    const world = await start();
    await register(world, 'A', undefined);
    world.pusher.script(urlOf('A'), 'hang');
    const id = await submit(world);
    await register(world, 'A', undefined, { request_ids: [] });
    expect(pushesTo(world, 'A')).toBe(1);
    world.pusher.script(urlOf('A'), TAKEN);
    world.pusher.respond(urlOf('A'), BUSY);
    await world.runUntilIdle();
    expect([await ownerOf(world, id), pushesTo(world, 'A')]).toEqual(['A', 2]);
  });

  test('moves ten seconds after that from a pull agent that does not claim it', async () => {
    const [world, id] = await disown(undefined, { endpoint: 'pull' });
    await passOnline(world, 9_600, 'A', 'B');
    expect(await ownerOf(world, id)).toBe('A');
    expect((await world.store.getAgentStatus('A'))?.contact.push?.taken).not.toBe(false);
    await world.pass(800);
    expect(await ownerOf(world, id)).toBe('B');
  });

  test('is claimed again at once', async () => {
    const world = await start();
    const pull = { endpoint: 'pull' };
    await register(world, 'A', undefined, pull);
    const id = await submit(world);
    const claim = () => world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER);
    expect(await claim()).toMatchObject({ request_id: id });
    await register(world, 'A', undefined, { ...pull, request_ids: [] });
    expect(await claim()).toMatchObject({ request_id: id });
  });

  test('does not keep its agent from registering where its output is damaged, nor the others from it', async () => {
    let damaged = '';
    const wrap = (store: Store): Store => ({
      ...store,
      async commit(batch) {
        if (batch.writes.some(({ id }) => id === damaged)) throw new StoreDamaged('planned');
        return await store.commit(batch);
      },
    });
    const world = await start({ wrap });
    await register(world, 'A', TAKEN, { max_concurrent: 2 });
    const [first, second] = [await submit(world), await submit(world)];
    await world.pass(400);
    damaged = first;
    world.pusher.script(urlOf('A'), REFUSED);
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 2, request_ids: [] }));
    const isAcknowledged = async (id: string) =>
      (await world.store.get('task', id))?.value.delivery?.acknowledged;
    expect([await isAcknowledged(first), await isAcknowledged(second)]).toEqual([true, false]);
  });

  test('a second time moves ten seconds after that, not after the first', async () => {
    const pull = { endpoint: 'pull' };
    const [world, id] = await disown(undefined, pull);
    await passOnline(world, 8_000, 'A', 'B');
    await world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER);
    await passOnline(world, 4_000, 'A', 'B');
    await register(world, 'A', undefined, { ...pull, request_ids: [] });
    await passOnline(world, 9_600, 'A', 'B');
    expect(await ownerOf(world, id)).toBe('A');
    await world.pass(800);
    expect(await ownerOf(world, id)).toBe('B');
  });
});
