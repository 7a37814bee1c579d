/**
 * A task that is assigned in the commit that submits it, and an acknowledgement that is committed late: what
 * is saved, and what must not be lost. Each scenario must also find the wrong design that is planted for it.
 */
import { describe, expect, test } from 'vitest';
import type { Batch, Store } from '../../server/ports/store.ts';
import { flushMicrotasks } from '../harness/fake-clock.ts';
import { createFakePusher } from '../harness/fake-pusher.ts';
import { createFaultyStore } from '../harness/faulty-store.ts';
import { describeEachStore, QUICK_STORES } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, countIds, createWorld, type World } from '../harness/world.ts';
import { read, submit } from '../harness/world-calls.ts';
import { type StartWorld, useWorlds } from '../harness/worlds.ts';

/** Longer than an acknowledgement waits. */
const LATE_MS = 400;
const SUCCESS = { agent_id: 'A', status: 'success', result: {} } as const;

/** Starts a world whose gateway knows the agent A; `mutate` plants a wrong design. */
async function startWithAgent(
  start: StartWorld,
  mutate: (store: Store) => Store = (store) => store,
): Promise<World & { readonly batches: Batch[] }> {
  const batches: Batch[] = [];
  const world = await start({
    wrap: (store) =>
      mutate({
        ...store,
        commit(batch) {
          batches.push(batch);
          return store.commit(batch);
        },
      }),
  });
  await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3 }));
  await world.runUntilIdle();
  batches.splice(0);
  return { ...world, batches };
}

const isAcknowledged = async (world: World, id: string): Promise<boolean | undefined> =>
  (await world.store.get('task', id))?.value.delivery?.acknowledged;

/** Throws unless the acknowledgement that waits is committed at the drain. */
async function requireFlushedAtDrain(world: World): Promise<void> {
  const id = await submit(world);
  expect(await isAcknowledged(world, id)).toBe(false);
  await world.clock.drive(world.duties.drainPushes(0));
  expect(await isAcknowledged(world, id)).toBe(true);
}

/** Throws unless a task that its agent disowns while its acknowledgement waits is pushed again. */
async function requirePushedAgainAfterDisowning(world: World): Promise<void> {
  const id = await submit(world);
  await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3, request_ids: [] }));
  await world.pass(2_000);
  expect(world.pusher.sent.map(({ task }) => task.request_id)).toEqual([id, id]);
  expect(await isAcknowledged(world, id)).toBe(true);
}

/** Pretends to apply the commits that the condition holds for. */
const dropping =
  (isDropped: (batch: Batch) => boolean) =>
  (store: Store): Store => ({
    ...store,
    commit: async (batch) =>
      isDropped(batch) ? { ok: true, revision: 'dropped' } : await store.commit(batch),
  });
const writesDelivery = (batch: Batch, has: { acknowledged: boolean; disowned: boolean }): boolean =>
  batch.writes.some(
    ({ kind, value }) =>
      kind === 'task' &&
      value?.delivery?.acknowledged === has.acknowledged &&
      value.delivery.disowned > 0 === has.disowned,
  );

describeEachStore('on %s, a task that an agent is free for', (_name, open) => {
  const start = useWorlds(open);

  test('takes two commits in all when it is reported within 250 ms', async () => {
    const world = await startWithAgent(start);
    const id = await submit(world);
    expect(world.batches).toHaveLength(1);
    expect(world.batches[0]?.writes.map(({ kind }) => kind)).toEqual(['input', 'task']);
    expect(world.pusher.sent.map(({ task }) => [task.request_id, task.status])).toEqual([[id, 'running']]);
    await world.gateway.reportResult({ request_id: id, ...SUCCESS });
    await world.pass(2_000);
    expect(world.batches).toHaveLength(2);
    expect(await read(world, id)).toMatchObject({ status: 'success', agent_id: 'A' });
    expect(world.pusher.sent).toHaveLength(1);
  });

  test('is answered as pending, and is running from the same commit on', async () => {
    const world = await startWithAgent(start);
    const fresh = await world.gateway.submitTask(buildSubmission(), 'a key');
    expect(fresh).toMatchObject({ status: 'pending', agent_id: null, progress: 0 });
    expect(await read(world, fresh.request_id)).toMatchObject({ status: 'running', agent_id: 'A' });
    expect(await world.gateway.submitTask(buildSubmission(), 'a key')).toEqual(fresh);
    await world.runUntilIdle();
    expect(world.pusher.sent).toHaveLength(1);
  });

  test('is acknowledged within 250 ms, and never pushed again', async () => {
    const world = await startWithAgent(start);
    const id = await submit(world);
    expect(await isAcknowledged(world, id)).toBe(false);
    await world.pass(LATE_MS);
    expect(await isAcknowledged(world, id)).toBe(true);
    await world.pass(20_000);
    expect(world.pusher.sent).toHaveLength(1);
  });

  test('needs no acknowledgement of its own once its agent has reported progress', async () => {
    const world = await startWithAgent(start);
    const id = await submit(world);
    await world.gateway.reportResult({ request_id: id, agent_id: 'A', status: 'running', progress: 20 });
    await world.pass(LATE_MS);
    expect(world.batches).toHaveLength(2);
    expect(await isAcknowledged(world, id)).toBe(true);
  });

  test('is acknowledged at once while the gateway drains', async () => {
    await requireFlushedAtDrain(await startWithAgent(start));
  });

  test('is pushed again under its id when the process dies before it was acknowledged', async () => {
    const successor = await start();
    const { clock, pusher } = successor;
    const dying = createFaultyStore(successor.store);
    const world = createWorld(dying, { clock, pusher });
    await world.gateway.registerAgent(buildRegistration('A'));
    await world.runUntilIdle();
    const id = await submit(world);
    dying.die(0);
    await successor.pass(2_000);
    expect(pusher.sent.map(({ task }) => task.request_id)).toEqual([id, id]);
    expect(await isAcknowledged(successor, id)).toBe(true);
  });

  test('is pushed again when its agent disowns it before it was acknowledged', async () => {
    await requirePushedAgainAfterDisowning(await startWithAgent(start));
  });

  test('is pushed only after its commit is durable', async () => {
    const durable = Promise.withResolvers<void>();
    const world = await startWithAgent(start, (store) => ({
      ...store,
      async commit(batch) {
        const result = await store.commit(batch);
        if (batch.noneWaiting) await durable.promise;
        return result;
      },
    }));
    const submitted = world.gateway.submitTask(buildSubmission());
    await flushMicrotasks();
    expect(world.pusher.sent).toEqual([]);
    durable.resolve();
    await submitted;
    await world.runUntilIdle();
    expect(world.pusher.sent).toHaveLength(1);
  });

  test.each([
    [1_400, 'its lease is renewed first'],
    [1_700, 'another process has pushed it by then'],
  ])('is pushed once when the reply to its commit takes %i ms: %s', async (replyMs) => {
    const other = await start();
    const { clock, pusher, store } = other;
    const world = createWorld(
      {
        ...store,
        async commit(batch) {
          const result = await store.commit(batch);
          if (batch.noneWaiting) await clock.sleep(replyMs);
          return result;
        },
      },
      { clock, pusher },
    );
    await world.gateway.registerAgent(buildRegistration('A'));
    await world.runUntilIdle();
    const submitted = world.gateway.submitTask(buildSubmission());
    for (let passedMs = 0; passedMs < 4_000; passedMs += 100) {
      await clock.advance(100);
      if (passedMs % 400 === 0) await Promise.all([world.duties.renewLeases(), other.duties.renewLeases()]);
      await other.runUntilIdle();
    }
    const { request_id } = await submitted;
    expect(pusher.sent.map(({ task }) => task.request_id)).toEqual([request_id]);
    expect(await isAcknowledged(other, request_id)).toBe(true);
  });

  test('waits, when another process took the slot that this one thought free', async () => {
    const pusher = createFakePusher();
    const ids = countIds();
    const world = await start({ pusher, ids });
    const other = createWorld(world.store, { clock: world.clock, pusher, ids });
    await world.gateway.registerAgent(buildRegistration('A'));
    await world.runUntilIdle();
    // The other process learns of the agent from a task that it submits itself.
    const first = await submit(other, { queue_timeout: 100 });
    await other.gateway.reportResult({ request_id: first, ...SUCCESS });
    const taken = await submit(world);
    const waiting = await submit(other, { queue_timeout: 100 });
    expect(await read(world, taken)).toMatchObject({ status: 'running' });
    expect(await read(world, waiting)).toMatchObject({ status: 'pending' });
    // The result comes to the other process, while the acknowledgement waits in this one.
    await other.gateway.reportResult({ request_id: taken, ...SUCCESS });
    await world.pass(LATE_MS);
    await other.pass(LATE_MS);
    expect(await read(world, taken)).toMatchObject({ status: 'success' });
    expect(await read(world, waiting)).toMatchObject({ status: 'running' });
    expect(pusher.sent).toHaveLength(3);
  });
});

describe.each(QUICK_STORES.slice(0, 1))('on %s, a wrong design is found', (_name, open) => {
  const start = useWorlds(open);

  test('acknowledgements that wait are dropped at the drain', async () => {
    const drop = dropping((batch) => writesDelivery(batch, { acknowledged: true, disowned: false }));
    await expect(requireFlushedAtDrain(await startWithAgent(start, drop))).rejects.toThrow('to be true');
  });

  test('a task is disowned in vain while its acknowledgement waits', async () => {
    const drop = dropping((batch) => writesDelivery(batch, { acknowledged: false, disowned: true }));
    const world = await startWithAgent(start, drop);
    await expect(requirePushedAgainAfterDisowning(world)).rejects.toThrow('to deeply equal');
  });
});
