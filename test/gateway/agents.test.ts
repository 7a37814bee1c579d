/** Agents: their states, and what is submitted and listed. */
import { describe, expect, test } from 'vitest';
import { listAgents } from '../harness/listings.ts';
import { describeEachStore, QUICK_STORES } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, NEVER } from '../harness/world.ts';
import { agentOf, read, submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

const DAY_MS = 24 * 3_600_000;

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  describe('states', () => {
    test('draining lasts until a heartbeat unsets it or the agent registers, and the agent gets no new task', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 5 }));
      const id = await submit(world);
      expect(await world.gateway.heartbeatAgent({ agent_id: 'A', draining: true })).toMatchObject({
        state: 'draining',
      });
      expect(await world.gateway.heartbeatAgent({ agent_id: 'A' })).toMatchObject({ state: 'draining' });
      expect(await read(world, await submit(world))).toMatchObject({ status: 'failed' });
      expect(await read(world, id)).toMatchObject({ status: 'running' });
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 5 }));
      expect(await agentOf(world, 'A')).toMatchObject({ state: 'processing' });
    });

    test('the agents may take so much memory; beyond, a registration that adds some is refused', async () => {
      const world = await start({ agentBytesMax: 9_900 });
      const registerTags = async (agent_id: string, ...agent_tags: readonly string[]): Promise<void> => {
        await world.gateway.registerAgent(buildRegistration(agent_id, { agent_tags }));
        await world.runUntilIdle();
      };
      const refused = { code: 'busy', message: expect.stringContaining('fewer or shorter tags') };
      await registerTags('A', 'x'.repeat(200), 'y'.repeat(200));
      await registerTags('B', 'x'.repeat(200));
      await expect(registerTags('C', 'z'.repeat(200))).rejects.toMatchObject(refused);
      await expect(registerTags('A', 'z'.repeat(200), 'w'.repeat(1_000))).rejects.toMatchObject(refused);
      await registerTags('A', 'z'.repeat(200), 'y'.repeat(200));
      await registerTags('B', 'z'.repeat(200));
      // A tag that others have already is no more than its use.
      await registerTags('C', 'z'.repeat(200));
    });

    test('an unregistered agent is unknown at once', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A'));
      expect(await world.gateway.unregisterAgent('A')).toEqual({ ok: true, agent_id: 'A' });
      for (const call of [
        world.gateway.unregisterAgent('A'),
        world.gateway.heartbeatAgent({ agent_id: 'A' }),
        world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER),
      ]) {
        await expect(call).rejects.toMatchObject({ code: 'agent_not_found' });
      }
      expect((await listAgents(world.gateway)).total).toBe(0);
      expect(await read(world, await submit(world))).toMatchObject({ error_info: '无可用 Agent' });
    });

    test('an agent that registered a URL cannot claim', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A'));
      await expect(world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER)).rejects.toMatchObject({
        code: 'validation_failed',
        errors: [{ pointer: '/agent_id', detail: expect.any(String) }],
        message: expect.stringContaining('"endpoint": "pull"'),
      });
    });

    test('a registration that comes between the look and the commit of an unregistration stays', async () => {
      let meanwhile = async (): Promise<unknown> => undefined;
      const world = await start({
        wrap: (store) => ({
          ...store,
          async commit(batch) {
            const first = meanwhile;
            meanwhile = async () => undefined;
            await first();
            return await store.commit(batch);
          },
        }),
      });
      await world.gateway.registerAgent(buildRegistration('A'));
      meanwhile = () => world.gateway.registerAgent(buildRegistration('A'));
      expect(await world.gateway.unregisterAgent('A')).toEqual({ ok: true, agent_id: 'A' });
      expect(await agentOf(world, 'A')).toMatchObject({ state: 'ready' });
    });

    test('the token of an earlier registration neither unregisters, drains nor fills its successor', async () => {
      const world = await start();
      const first = await world.gateway.registerAgent(buildRegistration('A'));
      const second = await world.gateway.registerAgent(buildRegistration('A'));
      expect(first.registration).not.toBe(second.registration);
      const { registration } = first;
      expect(await world.gateway.unregisterAgent('A', registration)).toEqual({ ok: true, agent_id: 'A' });
      const stale = { agent_id: 'A', registration, draining: true, current_load: 1 };
      expect(await world.gateway.heartbeatAgent(stale)).toMatchObject({ state: 'ready' });
      expect(await agentOf(world, 'A')).toMatchObject({ eligible: true, full: false });
      const present = { ...stale, registration: second.registration, current_load: 0 };
      expect(await world.gateway.heartbeatAgent(present)).toMatchObject({ state: 'draining' });
      await world.gateway.unregisterAgent('A', second.registration);
      expect((await listAgents(world.gateway)).total).toBe(0);
      const late = world.gateway.unregisterAgent('A', registration);
      await expect(late).rejects.toMatchObject({ code: 'agent_not_found' });
    });
  });

  describe('submissions and listings', () => {
    test('a repeated submission under one key returns the first response, also when both arrive at once', async () => {
      const world = await start();
      const [one, two] = await Promise.all([
        world.gateway.submitTask(buildSubmission(), 'key-1'),
        world.gateway.submitTask(buildSubmission(), 'key-1'),
      ]);
      expect(two).toEqual(one);
      await world.runUntilIdle();
      expect(await world.gateway.submitTask(buildSubmission(), 'key-1')).toEqual(one);
      await expect(world.gateway.submitTask(buildSubmission({ timeout: 5 }), 'key-1')).rejects.toMatchObject({
        code: 'idempotency_conflict',
      });
      expect((await world.gateway.listTasks({ limit: 10 })).tasks).toHaveLength(1);
    });

    test('a key is free again a day after its first use, not earlier', async () => {
      const world = await start();
      const submitAgain = () => world.gateway.submitTask(buildSubmission(), 'key-1');
      const first = await submitAgain();
      await world.clock.advance(DAY_MS - 1);
      expect((await submitAgain()).request_id).toBe(first.request_id);
      await world.clock.advance(1);
      expect((await submitAgain()).request_id).not.toBe(first.request_id);
    });

    test('a key names no task that is gone: where tasks are kept for less than a day, it is kept that long', async () => {
      const world = await start({ keepTasksMs: 36_000 });
      const submitAgain = () => world.gateway.submitTask(buildSubmission(), 'key-1');
      const first = await submitAgain();
      await world.gateway.cancelTask(first.request_id);
      await world.clock.advance(35_999);
      expect((await submitAgain()).request_id).toBe(first.request_id);
      await world.clock.advance(24_001);
      await world.duties.trim();
      const second = await submitAgain();
      expect(second.request_id).not.toBe(first.request_id);
      expect((await read(world, second.request_id)).request_id).toBe(second.request_id);
    });

    test('a repeat under one key may have its fields in another order, at any depth', async () => {
      const world = await start();
      const payload = { a: 1, b: [{ c: 1, d: { e: 1, f: 2 } }] };
      const turned = { b: [{ d: { f: 2, e: 1 }, c: 1 }], a: 1 };
      const one = await world.gateway.submitTask(buildSubmission({ payload }), 'key-1');
      const two = await world.gateway.submitTask(buildSubmission({ payload: turned }), 'key-1');
      expect(two.request_id).toBe(one.request_id);
    });

    test('a submission beyond the limit of open tasks is refused as busy', async () => {
      const world = await start({ openTasksMax: 2 });
      await world.gateway.submitTask(buildSubmission({ queue_timeout: 60 }));
      await world.gateway.submitTask(buildSubmission({ queue_timeout: 60 }));
      await expect(world.gateway.submitTask(buildSubmission())).rejects.toMatchObject({
        code: 'busy',
        message: '2 tasks are open already. Wait for some to end, then send again.',
      });
    });

    test('a submission beyond a limit of one task is refused in the singular', async () => {
      const world = await start({ openTasksMax: 1 });
      await world.gateway.submitTask(buildSubmission({ queue_timeout: 60 }));
      await expect(world.gateway.submitTask(buildSubmission())).rejects.toThrow(/^1 task is open already\. /);
    });

    test('a waiting getTask returns when the task settles', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A'));
      const request_id = await submit(world);
      const reading = world.gateway.getTask(request_id, 60_000, NEVER);
      await world.pass(2_000);
      await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'failed', error_info: 'boom' });
      expect(await reading).toMatchObject({
        task: { status: 'failed', error_info: 'boom' },
        outcome: 'failed',
      });
    });
  });
});

// Not on Redis, where so many sweeps take ten seconds: the sweeper is the same on every store.
describe.each(QUICK_STORES)('on %s, after a day', (_name, open) => {
  const start = useWorlds(open);

  test('the record of an agent is removed after a day without contact, and its heartbeat then fails with agent_not_found', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A'));
    for (let hour = 0; hour < 25; hour += 1) {
      for (let n = 0; n < 900; n += 1) {
        await world.clock.advance(4_000);
        await world.duties.runDuePass();
      }
    }
    await expect(world.gateway.heartbeatAgent({ agent_id: 'A' })).rejects.toMatchObject({
      code: 'agent_not_found',
    });
  });
});
