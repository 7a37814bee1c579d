/** Which task gets the slot of an agent that tasks wait for: the oldest, whatever is submitted meanwhile. */
import { expect, test, vi } from 'vitest';
import { StoreDamaged } from '../../server/ports/store.ts';
import { BUSY, REFUSED, TAKEN } from '../harness/fake-pusher.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildSubmission, type World } from '../harness/world.ts';
import {
  ownerOf,
  pushesTo,
  registerAnswering as register,
  submitLong as submit,
  urlOf,
} from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

const WAITERS = 10;
const NEWCOMERS = 63;
/** More than a newcomer gives way for. */
const A_LOOK_MS = 100;
/** A look at what an agent is offered asks for at least this many; a newcomer's look for fewer. */
const OFFERED_AT_ONCE = 50;

/** Ends the task that was pushed last, and submits another at the moment its slot is free. */
async function replaceLast(world: World, newcomer = {}): Promise<void> {
  const request_id = world.pusher.sent.at(-1)?.task.request_id ?? '';
  await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
  await world.gateway.submitTask(buildSubmission({ timeout: 3_600, ...newcomer }));
}

describeEachStore('on %s, tasks that wait for the one slot of an agent', (_name, open) => {
  const start = useWorlds(open);

  /** Registers the agent, gives it a task, and submits others that wait; returns their ids. */
  async function addWaiters(
    world: World,
    waiters: number,
    more = {},
    agent = {},
  ): Promise<readonly string[]> {
    await register(world, 'A', TAKEN, agent);
    await submit(world);
    const ids: string[] = [];
    for (let n = 0; n < waiters; n += 1) ids.push(await submit(world, { queue_timeout: 3_000, ...more }));
    return ids;
  }

  const pushedAfterFirst = (world: World): readonly string[] =>
    world.pusher.sent.slice(1).map(({ task }) => task.request_id);

  test.each([
    ['that wait too', { queue_timeout: 3_000 }],
    ['that do not wait', {}],
  ])('get it before 63 newcomers %s', async (_what, newcomer) => {
    const world = await start();
    const waiters = await addWaiters(world, WAITERS);
    for (let n = 0; n < NEWCOMERS; n += 1) {
      await replaceLast(world, newcomer);
      await world.runUntilIdle();
      await world.pass(A_LOOK_MS);
    }
    expect(pushedAfterFirst(world).slice(0, WAITERS)).toEqual(waiters);
    expect(pushesTo(world, 'A')).toBe(1 + NEWCOMERS);
  });

  test('get it before a newcomer that may wait, which then waits behind them', async () => {
    const world = await start();
    await addWaiters(world, WAITERS);
    const [first] = world.pusher.sent;
    const request_id = first?.task.request_id ?? '';
    await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
    const { request_id: newcomer } = await world.gateway.submitTask(
      buildSubmission({ timeout: 3_600, queue_timeout: 3_000 }),
    );
    await world.runUntilIdle();
    expect((await world.store.get('task', newcomer))?.value).toMatchObject({ waiting: true });
    expect(pushedAfterFirst(world)).toHaveLength(1);
  });

  test('get it before newcomers that want another of its tags', async () => {
    const world = await start();
    const waiters = await addWaiters(world, WAITERS, { task_tags: ['b'] }, { agent_tags: ['a', 'b'] });
    for (let n = 0; n < WAITERS; n += 1) {
      await replaceLast(world, { queue_timeout: 3_000 });
      await world.pass(A_LOOK_MS);
    }
    expect(pushedAfterFirst(world)).toEqual(waiters);
  });

  test('get it before a task that moves at that moment', async () => {
    const world = await start();
    await register(world, 'B', REFUSED);
    const moving = await submit(world);
    expect(await ownerOf(world, moving)).toBe('B');
    const [waiter = ''] = await addWaiters(world, 1);
    await replaceLast(world, { task_tags: ['other'] });
    await world.gateway.unregisterAgent('B');
    await world.pass(A_LOOK_MS);
    expect([await ownerOf(world, waiter), await ownerOf(world, moving)]).toEqual(['A', 'B']);
    await replaceLast(world, { task_tags: ['other'] });
    await world.pass(A_LOOK_MS);
    expect(await ownerOf(world, moving)).toBe('A');
  });

  test('are offered it where a newcomer gives way while a look from before them is under way', async () => {
    const looks: PromiseWithResolvers<void>[] = [];
    let isHeld = false;
    const world = await start({
      wrap: (store) => ({
        ...store,
        async list(query, ask, page) {
          if (!isHeld || query !== 'waiting' || page.limit < OFFERED_AT_ONCE)
            return await store.list(query, ask, page);
          isHeld = false;
          looks.push(Promise.withResolvers());
          await looks.at(-1)?.promise;
          return { items: [], next: null };
        },
      }),
    });
    const [waiter = ''] = await addWaiters(world, 1);
    isHeld = true;
    const request_id = world.pusher.sent.at(-1)?.task.request_id ?? '';
    await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
    const look = world.duties.runDuePass();
    await vi.waitFor(() => expect(looks).toHaveLength(1));
    await world.gateway.submitTask(buildSubmission({ timeout: 3_600, queue_timeout: 3_000 }));
    await world.duties.runDuePass();
    looks[0]?.resolve();
    await look;
    await world.pass(A_LOOK_MS);
    expect(await ownerOf(world, waiter)).toBe('A');
  });

  test('are offered it in their order beside one that cannot be read', async () => {
    let damaged = '';
    const world = await start({
      wrap: (store) => ({
        ...store,
        async get(kind, id) {
          if (kind === 'task' && id === damaged) throw new StoreDamaged(`the task under ${id} is not JSON`);
          return await store.get(kind, id);
        },
      }),
    });
    const [first = '', ...others] = await addWaiters(world, 3);
    damaged = first;
    for (const _ of others) {
      await replaceLast(world);
      await world.pass(A_LOOK_MS);
    }
    expect(pushedAfterFirst(world)).toEqual(others);
  });
});

describeEachStore('on %s, a task that waits while two agents were busy for it', (_name, open) => {
  const start = useWorlds(open);

  test('does not hold up a newcomer that one of them takes now', async () => {
    const world = await start();
    for (const agent_id of ['A', 'B']) await register(world, agent_id, BUSY);
    const waiter = await submit(world);
    expect([pushesTo(world, 'A'), pushesTo(world, 'B')]).toEqual([1, 1]);
    const owner = await ownerOf(world, waiter);
    const other = owner === 'A' ? 'B' : 'A';
    world.pusher.script(urlOf(other), TAKEN);
    const newcomer = await submit(world);
    expect([await ownerOf(world, waiter), await ownerOf(world, newcomer)]).toEqual([owner, other]);
  });
});

describeEachStore('on %s, tasks that wait while their agent was busy for them', (_name, open) => {
  const start = useWorlds(open);

  test('are read by many newcomers together, not by each of them', async () => {
    let reads = 0;
    const world = await start({
      wrap: (store) => ({
        ...store,
        async get(kind, id) {
          reads += 1;
          return await store.get(kind, id);
        },
      }),
    });
    const count = 100;
    await register(world, 'A', BUSY, { max_concurrent: 2 * count });
    const submitAll = async (): Promise<void> => {
      const more = { timeout: 3_600, queue_timeout: 3_000 };
      await Promise.all(Array.from({ length: count }, () => world.gateway.submitTask(buildSubmission(more))));
      await world.runUntilIdle();
    };
    await submitAll();
    world.pusher.script(urlOf('A'), TAKEN);
    reads = 0;
    await submitAll();
    expect(pushesTo(world, 'A')).toBe(2 * count);
    // Some reads of each newcomer, and of each waiting task: not of each pair of them.
    expect(reads).toBeLessThan(10 * count);
  });
});
