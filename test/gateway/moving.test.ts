/** When a task that its agent did not take moves: who is offered it, at which moment, and who is not. */
import { expect, onTestFinished, test, vi } from 'vitest';
import type { PushOutcome } from '../../server/ports/pusher.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { BROKEN, BUSY, GONE, REFUSED, TAKEN } from '../harness/fake-pusher.ts';
import { describeEachStore } from '../harness/stores.ts';
import type { World } from '../harness/world.ts';
import {
  ownerOf,
  passOnline,
  pushesTo,
  registerAnswering as register,
  submitLong as submit,
  urlOf,
} from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

/** At once: the next look of the duties. */
const AT_ONCE_MS = 400;

describeEachStore('on %s, an agent whose origin has all the pushes it may have', (_name, open) => {
  const start = useWorlds(open);

  test('is passed over for one of another origin, and gets the task when there is none', async () => {
    const world = await start({ pushesMax: 4 });
    world.pusher.script(urlOf('A'), 'hang');
    await register(world, 'A', undefined, { max_concurrent: 1_000 });
    const held = [await submit(world), await submit(world)];
    expect(world.pusher.open()).toHaveLength(held.length);
    await register(world, 'B', TAKEN, { max_concurrent: 2, current_load: 1 });
    const moved = await submit(world);
    expect([await ownerOf(world, moved), pushesTo(world, 'B')]).toEqual(['B', 1]);
    const late = await submit(world);
    expect([await ownerOf(world, late), pushesTo(world, 'A')]).toEqual([null, 2]);
    world.pusher.script(urlOf('A'), TAKEN);
    world.pusher.respond(urlOf('A'), TAKEN);
    await world.pass(AT_ONCE_MS);
    expect([await ownerOf(world, late), pushesTo(world, 'A')]).toEqual(['A', 3]);
  });
});

describeEachStore('on %s, a task whose payload is damaged', (_name, open) => {
  const start = useWorlds(open);

  test('is tried after the usual pauses until its deadline, and says nothing of its agent', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    onTestFinished(() => logged.mockRestore());
    const world = await start({
      wrap: (store) => ({
        ...store,
        get: async (kind, id) => {
          if (kind === 'input') throw new StoreUnavailable('its CRC-32 does not match');
          return await store.get(kind, id);
        },
      }),
    });
    // Submitted before there is an agent: a task that is pushed as it is submitted is not read again.
    const id = await submit(world, { timeout: 100, queue_timeout: 50 });
    await register(world, 'A', TAKEN);
    await passOnline(world, 90_000, 'A');
    const { value } = (await world.store.get('task', id)) ?? {};
    expect(value?.delivery?.attempts).toBeGreaterThan(3);
    expect(value?.delivery?.attempts).toBeLessThan(10);
    expect(logged).toHaveBeenCalledTimes(1);
    const status = await world.store.getAgentStatus('A');
    expect(status?.contact.push ?? null).toBeNull();
    await passOnline(world, 20_000, 'A');
    expect((await world.store.get('task', id))?.value).toMatchObject({ status: 'failed' });
    expect(world.pusher.sent).toEqual([]);
  });
});

describeEachStore('on %s, a task that its agent did not take', (_name, open) => {
  const start = useWorlds(open);

  test('moves at once, not at its next attempt, to an agent that comes to have room', async () => {
    const world = await start();
    await register(world, 'A', REFUSED);
    await register(world, 'B', TAKEN, { current_load: 1 });
    const id = await submit(world);
    // Attempts after 0, 1, 3, 7, 15, 31 seconds: the next one is fourteen seconds away.
    await passOnline(world, 17_000, 'A', 'B');
    expect([await ownerOf(world, id), pushesTo(world, 'A')]).toEqual(['A', 5]);
    await world.gateway.heartbeatAgent({ agent_id: 'B', current_load: 0 });
    await world.pass(AT_ONCE_MS);
    expect([await ownerOf(world, id), pushesTo(world, 'A')]).toEqual(['B', 5]);
  });

  test('moves after three attempts and ten seconds, not later', async () => {
    const world = await start();
    await register(world, 'A', REFUSED);
    const id = await submit(world);
    await register(world, 'B', TAKEN);
    await world.pass(9_600);
    expect(await ownerOf(world, id)).toBe('A');
    await world.pass(AT_ONCE_MS + AT_ONCE_MS);
    expect(await ownerOf(world, id)).toBe('B');
  });

  test('is tried on at its own agent meanwhile, and taken there, leaves the waiting tasks', async () => {
    const world = await start();
    await register(world, 'A', REFUSED, { max_concurrent: 2 });
    const id = await submit(world);
    await passOnline(world, 17_000, 'A');
    world.pusher.script(urlOf('A'), TAKEN);
    await passOnline(world, 16_000, 'A');
    await register(world, 'B', TAKEN);
    await world.pass(20_000);
    expect(await ownerOf(world, id)).toBe('A');
    expect((await world.store.list('waiting', { tags: ['a'] }, { limit: 5 })).items).toEqual([]);
  });

  test('waits beyond thirty seconds when its agent was busy and asked for five minutes', async () => {
    const world = await start();
    await register(world, 'A', { ...BUSY, retryAfterMs: 600_000 } as PushOutcome);
    await register(world, 'B', TAKEN, { current_load: 1 });
    const id = await submit(world);
    await passOnline(world, 100_000, 'A', 'B');
    expect([await ownerOf(world, id), pushesTo(world, 'A')]).toEqual(['A', 1]);
    await world.gateway.heartbeatAgent({ agent_id: 'B', current_load: 0 });
    await world.pass(AT_ONCE_MS);
    expect(await ownerOf(world, id)).toBe('B');
  });

  test('honours Retry-After up to five minutes, no longer', async () => {
    const world = await start();
    await register(world, 'A', { ...BUSY, retryAfterMs: 600_000 } as PushOutcome);
    await submit(world);
    await passOnline(world, 299_000, 'A');
    expect(pushesTo(world, 'A')).toBe(1);
    await passOnline(world, 2_000, 'A');
    expect(pushesTo(world, 'A')).toBe(2);
  });

  test('is not offered for thirty seconds to an agent that was busy for it, and then at once', async () => {
    const world = await start();
    await register(world, 'A', { ...BUSY, retryAfterMs: 300_000 } as PushOutcome);
    await register(world, 'B', { ...BUSY, retryAfterMs: 300_000 } as PushOutcome);
    await submit(world);
    expect([pushesTo(world, 'A'), pushesTo(world, 'B')]).toEqual([1, 1]);
    for (let seconds = 0; seconds < 29; seconds += 1) {
      // Each change of its load makes it look for waiting tasks.
      for (const agent_id of ['A', 'B'])
        await world.gateway.heartbeatAgent({ agent_id, current_load: seconds % 2 });
      await world.pass(1_000);
    }
    expect([pushesTo(world, 'A'), pushesTo(world, 'B')]).toEqual([1, 1]);
    for (const agent_id of ['A', 'B']) await world.gateway.heartbeatAgent({ agent_id, current_load: 0 });
    await world.pass(2_000);
    expect(pushesTo(world, 'A') + pushesTo(world, 'B')).toBeGreaterThan(2);
  });

  test('is offered thirty seconds later to an agent that was busy for it and has had room since', async () => {
    const world = await start();
    const busy = { ...BUSY, retryAfterMs: 300_000 } as PushOutcome;
    for (const agent_id of ['A', 'B']) await register(world, agent_id, busy);
    const id = await submit(world);
    const owner = await ownerOf(world, id);
    const other = owner === 'A' ? 'B' : 'A';
    world.pusher.script(urlOf(other), TAKEN);
    await world.pass(29_600);
    expect(await ownerOf(world, id)).toBe(owner);
    await world.pass(AT_ONCE_MS + AT_ONCE_MS);
    expect(await ownerOf(world, id)).toBe(other);
  });

  test('is offered likewise when the agent it is assigned to has left meanwhile', async () => {
    const world = await start();
    await register(world, 'A', { ...BUSY, retryAfterMs: 300_000 } as PushOutcome);
    await register(world, 'B', { ...BUSY, retryAfterMs: 300_000 } as PushOutcome);
    const id = await submit(world);
    const owner = (await ownerOf(world, id)) ?? '';
    const other = owner === 'A' ? 'B' : 'A';
    world.pusher.script(urlOf(other), TAKEN);
    await world.gateway.unregisterAgent(owner);
    await world.pass(30_400);
    expect(await ownerOf(world, id)).toBe(other);
  });

  test('does not hide the tasks behind it from its own agent', async () => {
    const world = await start();
    const stuck = 120;
    await register(world, 'A', REFUSED, { max_concurrent: stuck });
    for (let n = 0; n < stuck; n += 1) await submit(world);
    const pending = await submit(world, { queue_timeout: 600 });
    await passOnline(world, 40_000, 'A');
    expect(await ownerOf(world, pending)).toBeNull();
    await register(world, 'A', REFUSED, { max_concurrent: stuck + 1 });
    await world.pass(2_000);
    expect(await ownerOf(world, pending)).toBe('A');
  });

  test('of a pull agent that does not claim goes at once to an agent that comes to have room', async () => {
    const world = await start();
    await register(world, 'A', undefined, { endpoint: 'pull' });
    await register(world, 'B', TAKEN, { current_load: 1 });
    const id = await submit(world);
    await passOnline(world, 24_000, 'A', 'B');
    expect(await ownerOf(world, id)).toBe('A');
    await world.gateway.heartbeatAgent({ agent_id: 'B', current_load: 0 });
    await world.pass(AT_ONCE_MS);
    expect(await ownerOf(world, id)).toBe('B');
  });

  test('moves at once when its agent becomes offline', async () => {
    const world = await start();
    await register(world, 'B', TAKEN, { current_load: 1 });
    await register(world, 'A', { ...REFUSED, retryAfterMs: 300_000 } as PushOutcome);
    for (let beats = 0; beats < 3; beats += 1) await passOnline(world, 10_000, 'A', 'B');
    const id = await submit(world);
    await world.gateway.heartbeatAgent({ agent_id: 'B', current_load: 0 });
    await passOnline(world, 70_000, 'B');
    expect([await ownerOf(world, id), pushesTo(world, 'A')]).toEqual(['A', 1]);
    await passOnline(world, 20_000, 'B');
    expect(await ownerOf(world, id)).toBe('B');
  });
});

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  test('an agent that responded with 410 is not pushed to before its next heartbeat, and then at once', async () => {
    const world = await start();
    await register(world, 'A', GONE);
    const id = await submit(world);
    await world.pass(120_000);
    expect(pushesTo(world, 'A')).toBe(1);
    world.pusher.script(urlOf('A'), TAKEN);
    await world.gateway.heartbeatAgent({ agent_id: 'A' });
    await world.pass(AT_ONCE_MS);
    expect([await ownerOf(world, id), pushesTo(world, 'A')]).toEqual(['A', 2]);
  });

  test('a task moves although a push to its agent is open, once that agent is gone', async () => {
    const world = await start();
    world.pusher.script(urlOf('A'), 'hang');
    await register(world, 'A');
    await passOnline(world, 30_000, 'A');
    const id = await submit(world);
    await register(world, 'B', TAKEN);
    await passOnline(world, 169_000, 'B');
    expect(await ownerOf(world, id)).toBe('A');
    await passOnline(world, 21_000, 'B');
    expect(await ownerOf(world, id)).toBe('B');
    expect([pushesTo(world, 'A'), world.pusher.open().length]).toEqual([1, 0]);
  });

  test('an open push to a gone agent stays open until another agent comes to have room', async () => {
    const world = await start();
    world.pusher.script(urlOf('A'), 'hang');
    await register(world, 'A');
    await passOnline(world, 30_000, 'A');
    const id = await submit(world);
    await register(world, 'B', TAKEN, { current_load: 1 });
    await passOnline(world, 250_000, 'B');
    expect(await ownerOf(world, id)).toBe('A');
    expect([pushesTo(world, 'A'), world.pusher.open().length]).toEqual([1, 1]);
    await world.gateway.heartbeatAgent({ agent_id: 'B', current_load: 0 });
    await passOnline(world, 2_000, 'B');
    expect(await ownerOf(world, id)).toBe('B');
  });

  const leaves: readonly (readonly [string, (world: World) => Promise<unknown>])[] = [
    ['is offline', (world) => passOnline(world, 92_000, 'B')],
    ['is unregistered', (world) => world.gateway.unregisterAgent('A')],
  ];

  test.each(leaves)('stays when its agent %s for 90 s in which no gateway swept', async (_name, leave) => {
    const world = await start();
    world.pusher.script(urlOf('A'), BROKEN);
    await register(world, 'A');
    await passOnline(world, 1_000, 'A');
    const id = await submit(world);
    await register(world, 'B', TAKEN);
    await leave(world);
    await world.clock.advance(300_000);
    await world.runUntilIdle();
    expect(await ownerOf(world, id)).toBe('A');
    await passOnline(world, 85_000, 'B');
    expect(await ownerOf(world, id)).toBe('A');
    // It is pushed again, and so looked at, every 30 s or so.
    await passOnline(world, 45_000, 'B');
    expect(await ownerOf(world, id)).toBe('B');
  });
});
