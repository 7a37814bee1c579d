/** How a task reaches its agent: acknowledged, untaken and unknown attempts, moves, retries. */
import { describe, expect, test } from 'vitest';
import { yieldToEventLoop } from '../../server/async/waiting.ts';
import { taskRef } from '../../server/ports/store.ts';
import { BROKEN, BUSY, REFUSED, TAKEN } from '../harness/fake-pusher.ts';
import { listAgents } from '../harness/listings.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, type World } from '../harness/world.ts';
import { read, submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  describe('a pushed task', () => {
    test('is running before the push starts and acknowledged by a 2xx', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A'));
      const submitted = await world.gateway.submitTask(buildSubmission());
      expect(submitted).toMatchObject({
        status: 'pending',
        agent_id: null,
        progress: 0,
        result: null,
        error_info: null,
      });
      await world.runUntilIdle();
      expect(world.pusher.sent[0]?.task).toMatchObject({
        status: 'running',
        agent_id: 'A',
        request_id: submitted.request_id,
      });
      await world.pass(120_000);
      expect(world.pusher.sent).toHaveLength(1);
    });

    test('fails at once as no_agent when no agent is eligible', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A', { agent_tags: ['other'] }));
      const id = await submit(world);
      expect(await read(world, id)).toMatchObject({
        status: 'failed',
        error_info: '无可用 Agent',
        result: null,
      });
    });

    test('is not abandoned when an agent registers between the decision and its commit', async () => {
      let isRegistered = false;
      const world: World = await start({
        wrap: (store) => ({
          ...store,
          async commit(batch) {
            const isEnding = batch.writes.some(
              (write) => write.kind === 'task' && write.value?.status === 'failed',
            );
            if (isEnding && !isRegistered) {
              isRegistered = true;
              await world.gateway.registerAgent(buildRegistration('A'));
            }
            return await store.commit(batch);
          },
        }),
      });
      const id = await submit(world);
      expect(isRegistered).toBe(true);
      expect(await read(world, id)).toMatchObject({ status: 'running', agent_id: 'A' });
    });

    test('fails after seven days, however long its timeout is', async () => {
      const world = await start();
      const id = await submit(world, { timeout: 8 * 86_400, queue_timeout: 8 * 86_400 });
      await world.clock.advance(7 * 86_400_000 - 1_000);
      await world.runUntilIdle();
      expect(await read(world, id)).toMatchObject({ status: 'pending', timeout: 8 * 86_400 });
      await world.pass(2_000);
      expect(await read(world, id)).toMatchObject({ status: 'failed', error_info: 'timeout' });
    });

    test('is retried on the same agent with growing pauses while the outcome of its attempts is unknown', async () => {
      const world = await start();
      world.pusher.script('http://A.test/tasks', BROKEN);
      await world.gateway.registerAgent(buildRegistration('A'));
      const id = await submit(world);
      await world.gateway.registerAgent(buildRegistration('B'));
      await world.pass(60_000);
      expect(world.pusher.sent.every(({ endpoint }) => endpoint === 'http://A.test/tasks')).toBe(true);
      expect(world.pusher.sent.length).toBeGreaterThanOrEqual(5);
      expect(world.pusher.sent.length).toBeLessThanOrEqual(8);
      expect(await read(world, id)).toMatchObject({ status: 'running', agent_id: 'A' });
    });

    test('is pushed again after the pause alone, also if it comes due before', async () => {
      const world = await start();
      world.pusher.script('http://A.test/tasks', BROKEN);
      await world.gateway.registerAgent(buildRegistration('A'));
      const id = await submit(world);
      const atMs = world.store.nowMs();
      await world.store.commit({ writes: [], due: [{ ref: taskRef(id), atMs }] });
      await world.runUntilIdle();
      expect(world.pusher.sent).toHaveLength(1);
      await world.pass(2_000);
      expect(world.pusher.sent).toHaveLength(2);
    });

    test('moves at once from an agent that responds that it is busy', async () => {
      const world = await start();
      world.pusher.script('http://A.test/tasks', BUSY);
      await world.gateway.registerAgent(buildRegistration('A'));
      await world.gateway.registerAgent(buildRegistration('B', { current_load: 1, max_concurrent: 3 }));
      const id = await submit(world);
      expect(world.pusher.sent.map(({ endpoint }) => endpoint)).toEqual([
        'http://A.test/tasks',
        'http://B.test/tasks',
      ]);
      expect(await read(world, id)).toMatchObject({ agent_id: 'B' });
      const { agents } = await listAgents(world.gateway);
      expect(agents.map(({ agent_id, running }) => [agent_id, running])).toEqual([
        ['A', 0],
        ['B', 1],
      ]);
    });

    test('is not pushed again while a push has no response, and a late 2xx acknowledges it', async () => {
      const world = await start();
      world.pusher.script('http://A.test/tasks', 'hang');
      await world.gateway.registerAgent(buildRegistration('A'));
      const id = await submit(world);
      await world.pass(200_000);
      expect(world.pusher.sent).toHaveLength(1);
      world.pusher.respond('http://A.test/tasks', TAKEN);
      await world.pass(200_000);
      expect(world.pusher.sent).toHaveLength(1);
      expect(await read(world, id)).toMatchObject({ status: 'running' });
    });

    test('is taken by no other process while its push is awaited at the end of this one', async () => {
      const world = await start();
      world.pusher.script('http://A.test/tasks', 'hang');
      await world.gateway.registerAgent(buildRegistration('A'));
      const id = await submit(world);
      const drained = world.duties.drainPushes(10_000);
      for (let n = 0; n < 20; n += 1) {
        await world.clock.advance(400);
        const taken = await world.store.takeDue(10);
        expect(taken.map(({ ref }) => ref)).not.toContain(taskRef(id));
      }
      world.pusher.respond('http://A.test/tasks', TAKEN);
      await world.clock.drive(drained);
      expect((await world.store.get('task', id))?.value.delivery?.acknowledged).toBe(true);
    });

    test('fails at its deadline while its push is still open', async () => {
      const world = await start();
      world.pusher.script('http://A.test/tasks', 'hang');
      await world.gateway.registerAgent(buildRegistration('A'));
      const id = await submit(world, { timeout: 30 });
      await world.pass(29_200);
      expect(await read(world, id)).toMatchObject({ status: 'running' });
      await world.pass(1_200);
      expect(await read(world, id)).toMatchObject({ status: 'failed', error_info: 'timeout', agent_id: 'A' });
    });

    test('moves 90 s after its agent is unregistered if it may have been taken, and stays if it was acknowledged', async () => {
      const world = await start();
      world.pusher.script('http://A.test/tasks', BROKEN);
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 2 }));
      const unknown = await submit(world);
      world.pusher.script('http://A.test/tasks', TAKEN);
      const acknowledged = await submit(world);
      await world.gateway.unregisterAgent('A');
      await world.gateway.registerAgent(buildRegistration('B', { max_concurrent: 2 }));
      await world.pass(85_000);
      expect(await read(world, unknown)).toMatchObject({ agent_id: 'A' });
      await world.pass(10_000);
      expect(await read(world, unknown)).toMatchObject({ agent_id: 'B' });
      expect(await read(world, acknowledged)).toMatchObject({ agent_id: 'A', status: 'running' });
    });

    test('stays with an unregistered agent while there is no other, and moves when another registers', async () => {
      const world = await start();
      world.pusher.script('http://A.test/tasks', REFUSED);
      await world.gateway.registerAgent(buildRegistration('A'));
      const id = await submit(world);
      await world.gateway.unregisterAgent('A');
      await world.pass(5_000);
      expect(await read(world, id)).toMatchObject({ status: 'running', agent_id: 'A' });
      await world.gateway.registerAgent(buildRegistration('B'));
      await world.pass(2_000);
      expect(await read(world, id)).toMatchObject({ status: 'running', agent_id: 'B' });
    });
  });

  describe('waiting for an agent', () => {
    test('the oldest waiting task is assigned first when a slot becomes free, and the others fail at their queue end', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A'));
      const first = await submit(world, { queue_timeout: 50 });
      const second = await submit(world, { queue_timeout: 50 });
      const third = await submit(world, { queue_timeout: 50 });
      expect(await read(world, second)).toMatchObject({ status: 'pending' });
      await world.gateway.reportResult({ request_id: first, agent_id: 'A', status: 'success' });
      await world.pass(1_000);
      expect(await read(world, second)).toMatchObject({ status: 'running' });
      expect(await read(world, third)).toMatchObject({ status: 'pending' });
      await world.pass(51_000);
      expect(await read(world, third)).toMatchObject({ status: 'failed', error_info: '无可用 Agent' });
    });

    test('a task whose timeout and queue end coincide fails as timeout', async () => {
      const world = await start();
      const id = await submit(world, { queue_timeout: 10, timeout: 10 });
      await world.pass(11_000);
      expect(await read(world, id)).toMatchObject({ status: 'failed', error_info: 'timeout' });
    });

    test('of a queue end and a timeout that are both over, the earlier one ends the task', async () => {
      const world = await start();
      const waited = await submit(world, { queue_timeout: 5, timeout: 10 });
      const timedOut = await submit(world, { queue_timeout: 60, timeout: 10 });
      await world.clock.advance(20_000);
      await world.runUntilIdle();
      expect(await read(world, waited)).toMatchObject({ status: 'failed', error_info: '无可用 Agent' });
      expect(await read(world, timedOut)).toMatchObject({ status: 'failed', error_info: 'timeout' });
    });

    test('a timeout that passes while the agents are read is no lack of an agent', async () => {
      let reading = Promise.resolve();
      const world = await start({
        wrap: (store) => ({
          ...store,
          async readAgentChanges(cursor) {
            await reading;
            return await store.readAgentChanges(cursor);
          },
        }),
      });
      const submission = buildSubmission({ queue_timeout: 9, timeout: 0.02 });
      const { request_id: id } = await world.gateway.submitTask(submission);
      const { promise, resolve } = Promise.withResolvers<void>();
      reading = promise;
      const preview = world.gateway.previewMatch(['a']);
      const dispatch = world.runUntilIdle();
      for (let ticks = 0; ticks < 20; ticks += 1) await yieldToEventLoop();
      await world.clock.advance(50);
      resolve();
      await Promise.all([preview, dispatch]);
      await world.pass(400);
      expect(await read(world, id)).toMatchObject({ status: 'failed', error_info: 'timeout' });
    });

    test('a hundred waiting tasks all run on one agent with ten slots, at most ten at once', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 10 }));
      const ids: string[] = [];
      for (let n = 0; n < 100; n += 1) {
        ids.push((await world.gateway.submitTask(buildSubmission({ queue_timeout: 300 }))).request_id);
      }
      let reported = 0;
      while (reported < 100) {
        await world.pass(1_200);
        const running = (await world.gateway.getAgent('A')).slots.map(({ request_id }) => request_id);
        expect(running.length).toBeGreaterThan(0);
        expect(running.length).toBeLessThanOrEqual(10);
        for (const request_id of running) {
          await world.gateway.reportResult({
            request_id,
            agent_id: 'A',
            status: 'success',
            result: { output: 'x' },
          });
          reported += 1;
        }
      }
      for (const id of ids) expect(await read(world, id)).toMatchObject({ status: 'success' });
    });
  });
});
