/** Which agents qualify for a task that its agent does not take: what is said of that agent itself. */
import { expect, test } from 'vitest';
import type { PushOutcome } from '../../server/ports/pusher.ts';
import { BUSY, REFUSED } from '../harness/fake-pusher.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { submitLong } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

const gpu = { task_tags: ['gpu'] };
const FAR_MS = 12_000;
const BUSY_FOR_A_MINUTE: PushOutcome = {
  kind: 'untaken',
  status: 503,
  error: 'busy',
  busy: true,
  leave: false,
  retryAfterMs: 60_000,
};

async function register(world: World, agent_id: string, more = {}): Promise<void> {
  await world.gateway.registerAgent(buildRegistration(agent_id, { agent_tags: ['gpu'], ...more }));
  await world.runUntilIdle();
}

describeEachStore('on %s, a task that its agent does not take', (_name, open) => {
  const start = useWorlds(open);

  test('is said to be that agent’s, also where it is full, and a failing agent is free for no one', async () => {
    const world = await start();
    world.pusher.script('http://a.test/tasks', REFUSED);
    await register(world, 'a', { max_concurrent: 2 });
    const first = await submitLong(world, gpu);
    await world.pass(FAR_MS);
    const explained = await world.gateway.explainTask(first);
    expect(explained).toMatchObject({ status: 'running', waiting: true, acknowledged: false });
    // It has a free slot and would get another task; but it does not take its pushes.
    expect(explained.match?.tags).toMatchObject([{ tag: 'gpu', agents: 1, free: 0 }]);
    expect(explained.match?.sharing).toMatchObject({ agents: 1, eligible: 0, full: 0 });
    await submitLong(world, gpu);
    const { match } = await world.gateway.explainTask(first);
    expect(match?.agents).toMatchObject([
      { agent_id: 'a', reason: 'has_this_task', full: true, eligible: false, push_failing: true },
    ]);
    expect(match?.sharing).toMatchObject({ agents: 1, eligible: 0, full: 1 });
  });

  test('a busy agent does not fail, and is free for other tasks', async () => {
    const world = await start();
    world.pusher.script('http://a.test/tasks', BUSY);
    await register(world, 'a', { max_concurrent: 2 });
    await submitLong(world, gpu);
    await world.pass(FAR_MS);
    const { match } = await world.gateway.previewMatch(['gpu']);
    expect(match.agents).toMatchObject([{ agent_id: 'a', reason: 'eligible', push_failing: false }]);
    expect(match.tags).toMatchObject([{ tag: 'gpu', agents: 1, free: 1 }]);
  });

  test('names when a busy agent is asked again, however often the task is offered to others meanwhile', async () => {
    const world = await start();
    world.pusher.script('http://a.test/tasks', BUSY_FOR_A_MINUTE);
    await register(world, 'a', { max_concurrent: 2 });
    const beforeMs = world.store.nowMs();
    await submitLong(world, gpu);
    await world.pass(FAR_MS);
    const { push, failing, activity, time } = await world.gateway.getAgent('a');
    expect(push).toMatchObject({ last_status: 503, failures: 0, failing_since: null });
    expect(push.next_attempt_time).toBeGreaterThan(time + 40);
    expect(push.next_attempt_time).toBeLessThan(beforeMs / 1_000 + 62);
    expect({ failing, failed: activity?.push_failed.includes('1') }).toEqual({
      failing: false,
      failed: false,
    });
    await world.pass(52_000);
    const later = await world.gateway.getAgent('a');
    expect(later.push.next_attempt_time).toBeGreaterThan(later.time);
    expect(later.pushes).toHaveLength(2);
  });
});
