/**
 * Calls that commit for many tasks: in few commits; and if one gives up on a task, its error says that some
 * may have changed.
 */
import { expect, test } from 'vitest';
import { type Store, StoreDamaged, StoreUnavailable } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { openFreshStore } from '../harness/stores.ts';
import { buildRegistration, createWorld, NEVER } from '../harness/world.ts';
import { read, submitLong } from '../harness/world-calls.ts';

/**
 * A world with an agent that has two tasks. From `disturb()` on no commit that writes the second is made, or
 * the agent if it is that; from `damage()` on the second cannot be read.
 */
async function arrange() {
  const clock = createFakeClock();
  const store = await openFreshStore(clock);
  let disturbed = '';
  let damaged = '';
  const get: Store['get'] = async (kind, id) => {
    if (kind === 'task' && id === damaged) throw new StoreDamaged('The row is damaged.');
    return await store.get(kind, id);
  };
  const commit: Store['commit'] = async (batch) =>
    batch.writes.some(({ id }) => id === disturbed)
      ? { ok: false, conflict: 'revision' }
      : await store.commit(batch);
  const world = createWorld({ ...store, get, commit }, { clock });
  await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull', max_concurrent: 3 }));
  const first = await submitLong(world);
  const second = await submitLong(world);
  for (let count = 0; count < 2; count += 1)
    await clock.drive(world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER));
  const disturb = (id = second) => {
    disturbed = id;
  };
  const damage = () => {
    damaged = second;
  };
  return { clock, store, world, first, second, disturb, damage };
}

const isAcknowledged = async (store: Store, id: string) =>
  (await store.get('task', id))?.value.delivery?.acknowledged;

test('a heartbeat that acknowledges one task and not the other', async () => {
  const { clock, store, world, first, second, disturb } = await arrange();
  disturb();
  const beat = world.gateway.heartbeatAgent({ agent_id: 'A', request_ids: [first, second] });
  await expect(clock.drive(beat)).rejects.toThrow(StoreUnavailable);
  expect([await isAcknowledged(store, first), await isAcknowledged(store, second)]).toEqual([true, false]);
  await store.close();
});

test('a registration that disowns a task, or acknowledges one', async () => {
  const { clock, store, world, first, second, disturb } = await arrange();
  await clock.drive(world.gateway.heartbeatAgent({ agent_id: 'A', request_ids: [first, second] }));
  disturb();
  const registration = buildRegistration('A', { endpoint: 'pull', max_concurrent: 3, request_ids: [first] });
  await clock.advance(1);
  await expect(clock.drive(world.gateway.registerAgent(registration))).rejects.toThrow(StoreUnavailable);
  await store.close();
});

test('a cancellation of one task and not of the other; alone it is busy, and nothing was changed', async () => {
  const { clock, store, world, first, second, disturb } = await arrange();
  disturb();
  const request_ids = [first, second];
  const cancellation = {
    filter: null,
    request_ids,
    created_before: clock.monotonicMs() + 1e12,
    dry_run: false,
  };
  const many = world.gateway.cancelTasks({ ...cancellation, cursor: null });
  await expect(clock.drive(many)).rejects.toThrow(StoreUnavailable);
  expect(await read(world, first)).toMatchObject({ status: 'failed', error_info: 'cancelled by user' });
  await expect(clock.drive(world.gateway.cancelTask(second))).rejects.toMatchObject({ code: 'busy' });
  expect(await read(world, second)).toMatchObject({ status: 'running' });
  await store.close();
});

test('a report is accepted also when its agent, which was offline, is not brought back', async () => {
  const { clock, store, world, first, disturb } = await arrange();
  await world.pass(100_000);
  expect((await store.getAgentStatus('A'))?.record.offlineMs).not.toBeNull();
  disturb('A');
  const report = { agent_id: 'A', request_id: first, status: 'success', result: { output: 'done' } } as const;
  expect(await clock.drive(world.gateway.reportResult(report))).toMatchObject({ accepted: true });
  expect((await store.getAgentStatus('A'))?.record.offlineMs).not.toBeNull();
  await store.close();
});

test('a damaged task of an agent does not keep it from its heartbeats, its registrations and its other tasks', async () => {
  const { clock, store, world, first, second, damage } = await arrange();
  damage();
  await clock.drive(world.gateway.heartbeatAgent({ agent_id: 'A', request_ids: [first, second] }));
  expect(await isAcknowledged(store, first)).toBe(true);
  await clock.advance(1);
  const registration = buildRegistration('A', { endpoint: 'pull', max_concurrent: 3, request_ids: [second] });
  await clock.drive(world.gateway.registerAgent(registration));
  expect((await read(world, first)).status).toBe('running');
  await store.close();
});

test('an agent that leaves makes all tasks due that it has not claimed, 200 in one commit', async () => {
  const clock = createFakeClock();
  const store = await openFreshStore(clock);
  let commits = 0;
  const commit: Store['commit'] = async (batch) => {
    commits += 1;
    return await store.commit(batch);
  };
  const world = createWorld({ ...store, commit }, { clock });
  const task_tags = ['many'];
  const registration = { agent_tags: task_tags, endpoint: 'pull', max_concurrent: 500 };
  await world.gateway.registerAgent(buildRegistration('A', registration));
  for (let count = 0; count < 401; count += 1) await submitLong(world, { task_tags });
  commits = 0;
  await clock.drive(world.gateway.unregisterAgent('A'));
  expect(commits).toBe(1 + Math.ceil(401 / 200));
  await world.gateway.registerAgent(buildRegistration('B', registration));
  await world.runUntilIdle();
  expect((await store.list('slots', { agent_id: 'B' }, { limit: 500 })).items).toHaveLength(401);
  await store.close();
});
