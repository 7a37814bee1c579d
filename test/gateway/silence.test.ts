/**
 * What an agent's silence leads to, and when: `offline`, and tasks that fail as lost. A contact between the
 * sweeper's look and its commit wins.
 */
import { describe, expect, test } from 'vitest';
import { type Batch, type Store, StoreUnavailable } from '../../server/ports/store.ts';
import { BROKEN, BUSY, REFUSED, TAKEN } from '../harness/fake-pusher.ts';
import { listAgents } from '../harness/listings.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, NEVER, type World } from '../harness/world.ts';
import {
  ownerOf,
  passOnline,
  pushesTo,
  read,
  registerAnswering as register,
  submitLong as submit,
} from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

const A = 'http://A.test/tasks';
const agentOf = async (world: World) =>
  (await listAgents(world.gateway)).agents.find(({ agent_id }) => agent_id === 'A');
const beat = (world: World) => world.gateway.heartbeatAgent({ agent_id: 'A' });

/** How long the agent has been silent when it becomes offline; at most `mostMs`. */
async function silenceUntilOffline(world: World, mostMs: number): Promise<number> {
  for (let passedMs = 0; passedMs <= mostMs; passedMs += 400) {
    if ((await agentOf(world))?.state === 'offline') return passedMs;
    await world.pass(400);
  }
  throw new Error(`not offline after ${mostMs} ms`);
}

/** A store that does something once, just before the first commit for which `isIt` holds. */
function interruptBefore(isIt: (batch: Batch) => boolean) {
  let work: (() => Promise<unknown>) | undefined;
  return {
    wrap: (store: Store): Store => ({
      ...store,
      async commit(batch) {
        const interruption = isIt(batch) ? work : undefined;
        if (interruption) work = undefined;
        await interruption?.();
        return await store.commit(batch);
      },
    }),
    once(interruption: () => Promise<unknown>): void {
      work = interruption;
    },
    isOver: () => work === undefined,
  };
}

const losesTask = ({ writes }: Batch): boolean =>
  writes.some((write) => write.kind === 'task' && write.value?.error_info?.startsWith('agent lost'));

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  describe('an agent is offline', () => {
    test('90 s after its last call if it has sent a single heartbeat', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A'));
      await world.pass(15_200);
      await beat(world);
      const silenceMs = await silenceUntilOffline(world, 100_000);
      expect(silenceMs).toBeGreaterThanOrEqual(89_000);
      expect(silenceMs).toBeLessThan(92_000);
    });

    test('after three times the last gap between its heartbeats if that is over 45 s', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A'));
      await world.pass(60_000);
      await beat(world);
      const silenceMs = await silenceUntilOffline(world, 190_000);
      expect(silenceMs).toBeGreaterThanOrEqual(178_000);
      expect(silenceMs).toBeLessThan(182_000);
      await beat(world);
      await world.pass(15_200);
      await beat(world);
      const laterMs = await silenceUntilOffline(world, 100_000);
      expect(laterMs).toBeGreaterThanOrEqual(89_000);
      expect(laterMs).toBeLessThan(92_000);
    });

    test('90 s after its last claim began or ended if it is a pull agent, whether or not it ever beat', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A', { endpoint: 'pull' }));
      expect(await silenceUntilOffline(world, 100_000)).toBeLessThan(92_000);
      const claim = world.gateway.claimTask({ agent_id: 'A', wait: 60 }, NEVER);
      await world.pass(60_400);
      expect(await claim).toBeNull();
      expect(await agentOf(world)).toMatchObject({ state: 'ready' });
      const silenceMs = await silenceUntilOffline(world, 100_000);
      expect(silenceMs).toBeGreaterThanOrEqual(88_000);
      expect(silenceMs).toBeLessThan(92_000);
    });

    test('90 s after the first push that failed if it sends no heartbeats, however long it was silent', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 2 }));
      await world.pass(400_000);
      world.pusher.script(A, REFUSED);
      await submit(world);
      const silenceMs = await silenceUntilOffline(world, 100_000);
      expect(silenceMs).toBeGreaterThanOrEqual(89_000);
      expect(silenceMs).toBeLessThan(92_000);
      world.pusher.script(A, TAKEN);
      await world.pass(60_000);
      expect(await agentOf(world)).toMatchObject({ state: 'processing', eligible: true });
    });

    test('90 s after a call that followed the first push that failed', async () => {
      const world = await start();
      world.pusher.script(A, TAKEN);
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 2 }));
      const request_id = await submit(world);
      world.pusher.script(A, REFUSED);
      await submit(world);
      await world.pass(60_000);
      await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
      const silenceMs = await silenceUntilOffline(world, 100_000);
      expect(silenceMs).toBeGreaterThanOrEqual(89_000);
      expect(silenceMs).toBeLessThan(92_000);
    });

    test.each([
      ['a wrong response does', BROKEN, 'offline'],
      ['being busy does not', BUSY, 'processing'],
    ] as const)('for pushes that fail: %s', async (_what, outcome, state) => {
      const world = await start();
      world.pusher.script(A, outcome);
      await world.gateway.registerAgent(buildRegistration('A'));
      await submit(world);
      await world.pass(200_000);
      expect(await agentOf(world)).toMatchObject({ state });
    });

    test.each([3, 5, 44, 45, 120])(
      'not while it beats as often as asked, with a lost_after of %i s',
      async (lost_after) => {
        const world = await start();
        const { heartbeat_interval } = await world.gateway.registerAgent(
          buildRegistration('A', { lost_after }),
        );
        expect(heartbeat_interval).toBe(Math.min(15, lost_after / 3));
        const id = await submit(world);
        for (let passedMs = 0; passedMs < 60_000; passedMs += heartbeat_interval * 1_000) {
          await world.pass(heartbeat_interval * 1_000);
          await world.gateway.heartbeatAgent({ agent_id: 'A' });
        }
        expect(await read(world, id)).toMatchObject({ status: 'running' });
        expect(await agentOf(world)).toMatchObject({ state: 'processing' });
      },
    );

    test('not while a claim waits, even with a shorter lost_after', async () => {
      const world = await start();
      await world.gateway.registerAgent(
        buildRegistration('A', { endpoint: 'pull', lost_after: 20, max_concurrent: 2 }),
      );
      const id = await submit(world);
      expect(await world.gateway.claimTask({ agent_id: 'A', wait: 0 }, NEVER)).toMatchObject({
        request_id: id,
      });
      const claim = world.gateway.claimTask({ agent_id: 'A', wait: 60, request_ids: [id] }, NEVER);
      await world.pass(59_200);
      expect(await agentOf(world)).toMatchObject({ state: 'processing' });
      expect(await read(world, id)).toMatchObject({ status: 'running' });
      await world.pass(1_200);
      expect(await claim).toBeNull();
      await world.pass(22_000);
      expect(await agentOf(world)).toMatchObject({ state: 'offline' });
      expect(await read(world, id)).toMatchObject({ status: 'failed' });
    });
  });

  describe('a contact after the sweeper’s look wins:', () => {
    const calls: [string, (world: World) => Promise<unknown>][] = [
      ['a heartbeat', beat],
      ['a registration', (world) => world.gateway.registerAgent(buildRegistration('A', { lost_after: 30 }))],
    ];

    test.each(calls)('%s keeps its tasks', async (_name, call) => {
      const interruption = interruptBefore(losesTask);
      const world = await start({ wrap: interruption.wrap });
      await world.gateway.registerAgent(buildRegistration('A', { lost_after: 30 }));
      const id = await submit(world);
      interruption.once(() => call(world));
      await world.pass(32_000);
      expect(interruption.isOver()).toBe(true);
      expect(await read(world, id)).toMatchObject({ status: 'running', agent_id: 'A' });
    });

    test('an agent that was answered ready after 95 s of silence stays eligible', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A'));
      await beat(world);
      await world.pass(95_200);
      expect(await agentOf(world)).toMatchObject({ state: 'offline' });
      expect(await world.gateway.registerAgent(buildRegistration('A'))).toMatchObject({ state: 'ready' });
      await world.pass(80_000);
      expect(await agentOf(world)).toMatchObject({ state: 'ready', eligible: true });
    });
  });

  describe('tasks of a lost agent', () => {
    test('fail within 2 s of their time, each counted from the later of contact and assignment', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A', { lost_after: 30, max_concurrent: 2 }));
      world.pusher.script(A, 'hang');
      const first = await submit(world);
      await world.pass(20_000);
      const second = await submit(world);
      await world.pass(9_600);
      expect(await read(world, first)).toMatchObject({ status: 'running' });
      await world.pass(2_000);
      expect((await read(world, first)).error_info).toMatch(/^agent lost: no contact for 3[01] s$/);
      expect(await read(world, second)).toMatchObject({ status: 'running' });
      expect(await agentOf(world)).toMatchObject({ state: 'offline', eligible: false });
      expect(await read(world, await submit(world))).toMatchObject({ error_info: '无可用 Agent' });
      await world.pass(17_600);
      expect(await read(world, second)).toMatchObject({ status: 'running' });
      await world.pass(2_800);
      expect((await read(world, second)).error_info).toMatch(/^agent lost: no contact for 5[01] s$/);
    });

    test('stay with it if it has unregistered and had acknowledged them', async () => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A', { lost_after: 30 }));
      const id = await submit(world);
      await world.gateway.unregisterAgent('A');
      await world.gateway.registerAgent(buildRegistration('B', { agent_tags: ['b'] }));
      const waiting = await submit(world, { task_tags: ['a'], queue_timeout: 300 });
      await world.pass(80_000);
      expect(await read(world, id)).toMatchObject({ status: 'running', agent_id: 'A' });
      expect(await read(world, waiting)).toMatchObject({ status: 'pending' });
    });

    test('fail all within 2 s, a bounded number at a time', async () => {
      const COUNT = 700;
      let writing = 0;
      let most = 0;
      const world = await start({
        wrap: (store) => ({
          ...store,
          async commit(batch) {
            if (!losesTask(batch)) return await store.commit(batch);
            writing += 1;
            most = Math.max(most, writing);
            return await store.commit(batch).finally(() => {
              writing -= 1;
            });
          },
        }),
      });
      await world.gateway.registerAgent(buildRegistration('A', { lost_after: 30, max_concurrent: COUNT }));
      const ids = await Promise.all(
        Array.from({ length: COUNT }, () => world.gateway.submitTask(buildSubmission({ timeout: 3_600 }))),
      );
      await world.runUntilIdle();
      await world.pass(32_400);
      const states = await Promise.all(ids.map(({ request_id }) => read(world, request_id)));
      expect(states.filter(({ status }) => status !== 'failed')).toEqual([]);
      expect(most).toBeLessThanOrEqual(500);
    });
  });
});

describeEachStore('on %s, while nothing sweeps', (_name, open) => {
  const start = useWorlds(open);

  test.each(['this process stands still', 'the store is out'] as const)(
    'no agent is gone: %s for 100 s',
    async (why) => {
      let isOut = false;
      const world = await start({
        wrap: (store) => ({
          ...store,
          takeDue: async (limit) => {
            if (isOut) throw new StoreUnavailable('out');
            return await store.takeDue(limit);
          },
        }),
      });
      await register(world, 'A', BROKEN);
      const id = await submit(world);
      await register(world, 'B', TAKEN);
      // A becomes offline, and could still call for 90 s before it counts as gone.
      await passOnline(world, 100_000, 'B');
      expect((await world.store.getAgentStatus('A'))?.record.offlineMs).not.toBeNull();
      isOut = why === 'the store is out';
      for (let ms = 0; ms < 100_000; ms += 400) {
        await world.clock.advance(400);
        if (isOut) await world.duties.runDuePass().catch(() => 0);
      }
      isOut = false;
      await world.gateway.heartbeatAgent({ agent_id: 'B' });
      await world.pass(2_000);
      expect([await ownerOf(world, id), pushesTo(world, 'B')]).toEqual(['A', 0]);
      await passOnline(world, 100_000, 'B');
      expect(await ownerOf(world, id)).toBe('B');
    },
  );
});
