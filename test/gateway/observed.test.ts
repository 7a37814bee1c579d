/** What the gateway reports to its observer, and the figures it has for the operator, on every store. */
import { describe, expect, test } from 'vitest';
import type { Observer } from '../../server/ports/observer.ts';
import { GONE } from '../harness/fake-pusher.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, buildSubmission, type World } from '../harness/world.ts';
import { submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

/** An observer that writes a line for each thing. */
function createTranscript(): { readonly lines: string[]; readonly observer: Observer } {
  const lines: string[] = [];
  return {
    lines,
    observer: {
      noteSubmitted: (_id, { task_tags }) => void lines.push(`submitted ${task_tags.join()}`),
      noteStep({ before, after, trigger }) {
        lines.push(`${trigger.type} ${before.value.status} → ${after.status} ${after.agent_id ?? '-'}`);
      },
      noteAgent: (change, { agent_id }) => void lines.push(`${change} ${agent_id}`),
      notePush() {},
      noteCommit() {},
      noteRequest() {},
    },
  };
}

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  async function startObserved(): Promise<{ world: World; take: () => readonly string[] }> {
    const { lines, observer } = createTranscript();
    const world = await start({ observer });
    return { world, take: () => lines.splice(0) };
  }

  describe('the observer', () => {
    test('gets each step of a task once, in order, whether it is assigned at once or waits', async () => {
      const { world, take } = await startObserved();
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 1 }));
      await world.runUntilIdle();
      const first = await submit(world);
      expect(take()).toEqual(['registered A', 'submitted a', 'assign pending → running A']);
      const { request_id: second } = await world.gateway.submitTask(
        buildSubmission({ queue_timeout: 60 }),
        undefined,
      );
      await world.runUntilIdle();
      expect(take()).toEqual(['submitted a', 'wait pending → pending -']);
      const report = { agent_id: 'A', status: 'success' } as const;
      await world.gateway.reportResult({ ...report, request_id: first });
      await world.runUntilIdle();
      expect(take()).toEqual(['succeed running → success A', 'assign pending → running A']);
      await world.gateway.reportResult({ ...report, request_id: first });
      await world.gateway.cancelTask(second);
      expect(take()).toEqual(['cancel running → failed A']);
    });

    test('gets a task that no agent takes, and one that is at its deadline', async () => {
      const { world, take } = await startObserved();
      await submit(world, { task_tags: ['x'] });
      expect(take()).toEqual(['submitted x', 'abandon pending → failed -']);
      await world.gateway.submitTask(buildSubmission({ timeout: 1, queue_timeout: 60 }), undefined);
      await world.pass(2_000);
      expect(take()).toEqual(['submitted a', 'wait pending → pending -', 'expire pending → failed -']);
    });

    test('gets a registration that replaces one with a contact in the last 30 s, and a late departure', async () => {
      const { world, take } = await startObserved();
      const register = () => world.gateway.registerAgent(buildRegistration('A'));
      const first = await register();
      expect(first).not.toHaveProperty('replaced');
      await world.pass(29_000);
      const second = await register();
      expect(second.replaced).toBe(true);
      expect((await world.gateway.getAgent('A')).replaced).toBe(true);
      expect(take()).toEqual(['registered A', 'registered A', 'replaced A']);
      const beat = async ({ registration }: { readonly registration: string }) =>
        (await world.gateway.heartbeatAgent({ agent_id: 'A', registration })).replaced;
      expect([await beat(first), await beat(second)]).toEqual([true, undefined]);
      expect(await world.gateway.heartbeatAgent({ agent_id: 'A' })).not.toHaveProperty('replaced');
      await world.gateway.unregisterAgent('A', first.registration);
      expect(take()).toEqual(['outlived A']);
      expect(await beat(second)).toBeUndefined();
      // After 30 s of silence, or where it has unregistered, its process is gone.
      await world.pass(31_000);
      expect(await register()).not.toHaveProperty('replaced');
      await world.gateway.unregisterAgent('A');
      expect(await register()).not.toHaveProperty('replaced');
      expect(take()).toEqual(['registered A', 'unregistered A', 'registered A']);
    });

    test('gets what becomes of an agent', async () => {
      const { world, take } = await startObserved();
      await world.gateway.registerAgent(buildRegistration('A'));
      for (let n = 0; n < 2; n += 1) {
        await world.gateway.heartbeatAgent({ agent_id: 'A' });
        await world.pass(10_000);
      }
      await world.pass(100_000);
      await world.gateway.heartbeatAgent({ agent_id: 'A' });
      await world.gateway.unregisterAgent('A');
      expect(take()).toEqual(['registered A', 'offline A', 'back A', 'unregistered A']);
    });

    test('gets that an agent is offline after its 410', async () => {
      const { world, take } = await startObserved();
      const registration = buildRegistration('A');
      world.pusher.script(registration.endpoint, GONE);
      await world.gateway.registerAgent(registration);
      await submit(world, { queue_timeout: 60 });
      expect(take().filter((line) => /A$/.test(line) && !/→/.test(line))).toEqual([
        'registered A',
        'offline A',
      ]);
    });
  });

  describe('the figures', () => {
    const NONE = { ready: 0, processing: 0, draining: 0, offline: 0 };
    const readTasks = async (world: World) => {
      const { readMs: _, ...figures } = await world.clock.drive(world.figures.readTasks());
      return figures;
    };

    test('count agents by state and their slots', async () => {
      const { world } = await startObserved();
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3 }));
      await world.gateway.registerAgent(buildRegistration('B', { max_concurrent: 5 }));
      await world.gateway.registerAgent(buildRegistration('C', { max_concurrent: 7 }));
      await world.gateway.heartbeatAgent({ agent_id: 'C', draining: true });
      await world.gateway.registerAgent(buildRegistration('D'));
      await world.gateway.unregisterAgent('D');
      await submit(world);
      await readTasks(world);
      const states = { ...NONE, ready: 1, processing: 1, draining: 1 };
      const counts = { full: 0, failing: 0, unusableSlots: 0, offlineSlots: 0 };
      expect(world.figures.agents()).toEqual({ ...counts, states, usedSlots: 1, freeSlots: 7 });
      for (const agent_id of ['A', 'B', 'C']) await world.gateway.unregisterAgent(agent_id);
      await readTasks(world);
      expect(world.figures.agents()).toEqual({ ...counts, states: NONE, usedSlots: 1, freeSlots: 0 });
    });

    test('count the slots that an agent holds while it is offline', async () => {
      const { world } = await startObserved();
      const countOffline = async (): Promise<number> => {
        await readTasks(world);
        return world.figures.agents().offlineSlots;
      };
      await world.gateway.registerAgent(buildRegistration('A'));
      for (let n = 0; n < 2; n += 1) {
        await world.gateway.heartbeatAgent({ agent_id: 'A' });
        await world.pass(10_000);
      }
      await submit(world, { timeout: 600 });
      expect(await countOffline()).toBe(0);
      await world.pass(100_000);
      expect(await countOffline()).toBe(1);
      await world.gateway.heartbeatAgent({ agent_id: 'A' });
      expect(await countOffline()).toBe(0);
    });

    test('count open tasks, the oldest that waits, and the tags that no agent has', async () => {
      const { world } = await startObserved();
      const nothing = {
        pending: 0,
        running: 0,
        waiting: 0,
        oldestWaitingMs: 0,
        waitingTags: 0,
        tagsWithoutAgent: 0,
      };
      expect(await readTasks(world)).toEqual(nothing);
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 1, agent_tags: ['a'] }));
      await world.runUntilIdle();
      await submit(world);
      await submit(world, { task_tags: ['a', 'x'], queue_timeout: 60 });
      await world.clock.advance(5_000);
      await submit(world, { task_tags: ['y'], queue_timeout: 60 });
      expect(await readTasks(world)).toEqual({
        pending: 2,
        running: 1,
        waiting: 2,
        oldestWaitingMs: 5_000,
        waitingTags: 3,
        tagsWithoutAgent: 2,
      });
      await world.gateway.registerAgent(
        buildRegistration('Y', { max_concurrent: 1, agent_tags: ['y', 'x'] }),
      );
      await world.runUntilIdle();
      expect(await readTasks(world)).toMatchObject({ running: 2, waiting: 1, tagsWithoutAgent: 0 });
      await world.gateway.unregisterAgent('Y');
      expect(await readTasks(world)).toMatchObject({ waitingTags: 1, tagsWithoutAgent: 1 });
    });

    test('an agent that is offline serves no tag', async () => {
      const { world } = await startObserved();
      const registration = buildRegistration('A', { agent_tags: ['a'] });
      world.pusher.script(registration.endpoint, GONE);
      await world.gateway.registerAgent(registration);
      await submit(world, { queue_timeout: 60 });
      expect(await readTasks(world)).toMatchObject({ tagsWithoutAgent: 1 });
      expect(world.figures.agents().states).toEqual({ ...NONE, offline: 1 });
    });
  });
});
