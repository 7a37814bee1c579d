/**
 * The overview and agents as rows, on each engine: what they count, which problems they name, in which
 * order.
 */
import { describe, expect, test } from 'vitest';
import type { Overview } from '../../server/ports/admin.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { BROKEN, REFUSED, TAKEN } from '../harness/fake-pusher.ts';
import { describeEachStore, QUICK_STORES } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { submit, submitLong } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

/** Longer than a reading of the overview is shared. */
const UNSHARED_MS = 1_100;
const AGENTS = { limit: 100, sort: 'trouble' } as const;

async function register(world: World, agent_id: string, more = {}): Promise<void> {
  await world.gateway.registerAgent(buildRegistration(agent_id, { agent_tags: ['gpu'], ...more }));
  await world.runUntilIdle();
}

describeEachStore('on %s, the overview', (_name, open) => {
  const start = useWorlds(open);

  test('of a gateway without anything has counts of 0, no tags and no problems', async () => {
    const world = await start();
    const overview = await world.gateway.getOverview(100);
    expect(overview).toMatchObject({
      console: 'on',
      store: { kind: 'memory', ok: true, error: null },
      tasks: { waiting: 0, running: 0 },
      slots: { used: 0, free: 0, unusable: 0, not_taken: 0 },
      median_seconds: null,
      tags_total: 0,
      tags: [],
      oldest_waiting: [],
      problems: [],
    });
    const { step, ...series } = overview.series;
    expect([step, overview.window]).toEqual([30, 900]);
    for (const values of Object.values(series)) expect(values).toEqual(Array(30).fill(0));
  });

  test('counts tasks, slots and agents, and has the oldest tasks and the tags by need', async () => {
    const world = await start();
    await register(world, 'a', { max_concurrent: 2 });
    await submit(world, { task_tags: ['gpu'] });
    const oldest = await submit(world, { task_tags: ['none'], queue_timeout: 60 });
    await submit(world, { task_tags: ['absent'] });
    const overview = await world.gateway.getOverview(100);
    expect(overview).toMatchObject({
      tasks: { waiting: 1, running: 1 },
      slots: { used: 1, free: 1, unusable: 0, not_taken: 0 },
      tags_total: 3,
      agents: { total: 1, ready: 0, processing: 1, draining: 0, offline: 0, full: 0, failing: 0 },
      ended: { success: 0, failed: 0, cancelled: 0, timeout: 0, no_agent: 1, agent_lost: 0 },
    });
    expect(overview.oldest_waiting.map(({ request_id }) => request_id)).toEqual([oldest]);
    expect(overview.tags.map(({ tag, waiting, no_agent }) => [tag, waiting, no_agent])).toEqual([
      ['none', 1, 0],
      ['absent', 0, 1],
      ['gpu', 0, 0],
    ]);
    expect(overview.problems.map(({ code, tag }) => [code, tag])).toEqual([
      ['tag_without_agent', 'none'],
      ['tag_without_agent', 'absent'],
    ]);
    expect((await world.gateway.getOverview(1)).tags).toHaveLength(1);
    expect(overview.series.no_agent.at(-1)).toBe(1);
  });

  test('counts tasks that were reported failed, timed out or were lost as failed, in its series too', async () => {
    const world = await start();
    await register(world, 'a', { max_concurrent: 3, lost_after: 30 });
    const reported = await submitLong(world, { task_tags: ['gpu'] });
    await submit(world, { task_tags: ['gpu'], timeout: 1 });
    await submitLong(world, { task_tags: ['gpu'] });
    await world.gateway.reportResult({ request_id: reported, agent_id: 'a', status: 'failed' });
    await world.pass(35_000);
    const { ended, series } = await world.gateway.getOverview(100);
    expect(ended).toMatchObject({ success: 0, failed: 1, timeout: 1, agent_lost: 1 });
    expect(series.failed.reduce((sum, count) => sum + count, 0)).toBe(3);
  });

  test('names the agent whose pushes fail, and takes its slots for unusable', async () => {
    const world = await start();
    world.pusher.script('http://broken.test/tasks', BROKEN);
    await register(world, 'broken', { max_concurrent: 3 });
    await submit(world, { task_tags: ['gpu'] });
    await world.pass(4_000);
    const overview = await world.gateway.getOverview(100);
    expect(overview.slots).toEqual({ used: 1, free: 2, unusable: 3, not_taken: 1 });
    expect(overview.tags).toMatchObject([{ tag: 'gpu', used: 1, free: 2, unusable: 3, not_taken: 1 }]);
    expect(overview.agents).toMatchObject({ total: 1, failing: 1 });
    expect(overview.problems).toMatchObject([
      { code: 'push_failing', agent_id: 'broken', severity: 'problem', count: expect.any(Number) },
    ]);
    const agent = await world.gateway.getAgent('broken');
    expect(agent.push.failures).toBe(overview.problems[0]?.count);
    expect(agent.pushes[0]).toMatchObject({ outcome: 'unknown', status: 500 });
    expect(agent.slots).toHaveLength(1);
    expect(agent.unacknowledged).toBe(1);
    expect(agent.activity?.push_failed).toContain('1');
    expect(agent).toMatchObject({ failing: true, full: false, eligible: true });
  });

  test('counts a slot of a failing agent as usable exactly while it has a task that it took', async () => {
    const world = await start();
    const failing = 'http://failing.test/tasks';
    await register(world, 'failing', { max_concurrent: 3 });
    await submitLong(world, { task_tags: ['gpu'] });
    world.pusher.script(failing, REFUSED);
    for (const _ of [1, 2]) await submitLong(world, { task_tags: ['gpu'] });
    await world.pass(2_000);
    const slotsOf = ({ used, free, unusable, not_taken }: Overview['slots']) => [
      used,
      free,
      unusable,
      not_taken,
    ];
    const before = await world.gateway.getOverview(100);
    expect(slotsOf(before.slots)).toEqual([3, 0, 2, 2]);
    expect(before.tags.map(slotsOf)).toEqual([[3, 0, 2, 2]]);
    await submitLong(world, { task_tags: ['gpu'], queue_timeout: 600 });
    await world.pass(UNSHARED_MS);
    const { problems } = await world.gateway.getOverview(100);
    expect(problems.find(({ code }) => code === 'tag_full')?.text).toMatch(
      /^`gpu` is full: 1 of 1 usable slots; \d tasks? waits?.*\. 2 more slots are unusable: pushes fail\.$/,
    );
    world.pusher.script(failing, TAKEN);
    await world.pass(30_000);
    expect(slotsOf((await world.gateway.getOverview(100)).slots)).toEqual([3, 0, 0, 0]);
  });

  test('warns of a tag whose agents are all draining or offline before a task asks for it', async () => {
    const world = await start();
    await register(world, 'a', { agent_tags: ['gpu', 'zh'] });
    await register(world, 'b', { agent_tags: ['zh'] });
    await world.gateway.heartbeatAgent({ agent_id: 'a', draining: true });
    await world.pass(UNSHARED_MS);
    const read = async () =>
      (await world.gateway.getOverview(100)).problems.map(({ code, severity, tag, count }) => [
        ...[code, severity, tag, count],
      ]);
    expect(await read()).toEqual([['tag_without_agent', 'warning', 'gpu', null]]);
    expect((await world.gateway.getOverview(1)).tags).toMatchObject([{ tag: 'gpu', agents: 1, eligible: 0 }]);
    await submit(world, { task_tags: ['gpu'] });
    await world.pass(UNSHARED_MS);
    expect(await read()).toEqual([['tag_without_agent', 'problem', 'gpu', 1]]);
    await world.gateway.heartbeatAgent({ agent_id: 'a', draining: false });
    await world.pass(UNSHARED_MS);
    expect(await read()).toEqual([]);
  });

  test('has the median of the tasks that their agents ended, whatever became of the others', async () => {
    const world = await start();
    await register(world, 'a', { max_concurrent: 9 });
    const running = [
      await submitLong(world, { task_tags: ['gpu'] }),
      await submitLong(world, { task_tags: ['gpu'] }),
    ];
    const waiting: string[] = [];
    for (const _ of [1, 2, 3])
      waiting.push(await submitLong(world, { task_tags: ['none'], queue_timeout: 600 }));
    for (const id of waiting) await world.gateway.cancelTask(id);
    await world.pass(UNSHARED_MS);
    const before = await world.gateway.getOverview(100);
    expect([before.ended.cancelled, before.median_seconds]).toEqual([3, null]);
    await world.pass(10_000);
    for (const [index, request_id] of running.entries()) {
      const status = index === 0 ? 'success' : 'failed';
      await world.gateway.reportResult({ request_id, agent_id: 'a', status });
    }
    await world.pass(UNSHARED_MS);
    const { median_seconds } = await world.gateway.getOverview(100);
    expect(median_seconds).toBeGreaterThan(9);
    expect(median_seconds).toBeLessThan(14);
  });
});

describe.each(QUICK_STORES)('on %s, while the store is out', (_name, open) => {
  const start = useWorlds(open);

  test('the overview stays at what it read last, and says since when', async () => {
    let isOut = false;
    const world = await start({
      wrap: (store) => ({
        ...store,
        health: () => (isOut ? { ok: false, outage: new StoreUnavailable('disk full') } : store.health()),
      }),
    });
    await submit(world, { queue_timeout: 60 });
    const before = await world.gateway.getOverview(100);
    isOut = true;
    await world.clock.advance(UNSHARED_MS);
    const outMs = world.store.nowMs();
    const after = await world.gateway.getOverview(100);
    expect(after.store).toMatchObject({ ok: false, error: 'disk full', since: outMs / 1_000 });
    await world.clock.advance(UNSHARED_MS);
    expect((await world.gateway.getOverview(100)).store.since).toBe(outMs / 1_000);
    expect([after.time, after.tasks]).toEqual([before.time, before.tasks]);
    expect(after.problems[0]).toMatchObject({ code: 'store_down', severity: 'problem' });
    isOut = false;
    await world.clock.advance(UNSHARED_MS);
    const backMs = world.store.nowMs();
    const back = { ok: true, error: null, since: backMs / 1_000 };
    expect((await world.gateway.getOverview(100)).store).toMatchObject(back);
    await world.clock.advance(UNSHARED_MS);
    expect((await world.gateway.getOverview(100)).store).toMatchObject(back);
  });

  test('an outage that ended before anyone asked is known by when the store came back', async () => {
    let isOut = true;
    const world = await start({
      wrap: (store) => ({
        ...store,
        health: () => (isOut ? { ok: false, outage: new StoreUnavailable('disk full') } : store.health()),
      }),
    });
    await world.duties.renewLeases();
    await world.clock.advance(60_000);
    isOut = false;
    const backMs = world.store.nowMs();
    await world.duties.renewLeases();
    await world.clock.advance(60_000);
    expect((await world.gateway.getOverview(100)).store).toMatchObject({ ok: true, since: backMs / 1_000 });
  });

  test('a reading is shared for a second, however many ask', async () => {
    let readings = 0;
    const world = await start({
      wrap: (store) => ({
        ...store,
        readCounts(tagsMax) {
          readings += 1;
          return store.readCounts(tagsMax);
        },
      }),
    });
    await Promise.all(Array.from({ length: 50 }, () => world.gateway.getOverview(100)));
    expect(readings).toBe(1);
    await world.clock.advance(UNSHARED_MS);
    await world.gateway.getOverview(100);
    expect(readings).toBe(2);
  });
});

describeEachStore('on %s, agents as rows', (_name, open) => {
  const start = useWorlds(open);

  async function arrange(world: World): Promise<void> {
    await register(world, 'free');
    await register(world, 'Full-1', { current_load: 1 });
    await register(world, 'drains');
    await world.gateway.heartbeatAgent({ agent_id: 'drains', draining: true });
    await register(world, 'zh', { agent_tags: ['zh'] });
    await register(world, 'left');
    await world.gateway.unregisterAgent('left');
    await world.runUntilIdle();
  }

  test('are found by each filter, those in trouble first', async () => {
    const world = await start();
    await arrange(world);
    const list = async (more: object): Promise<string> =>
      (await world.gateway.listAgents({ ...AGENTS, ...more })).agents
        .map(({ agent_id }) => agent_id)
        .join(' ');
    expect(await list({})).toBe('Full-1 drains free zh');
    expect(await list({ sort: 'id' })).toBe('Full-1 drains free zh');
    expect(await list({ tag: 'zh' })).toBe('zh');
    expect(await list({ full: true })).toBe('Full-1');
    expect(await list({ full: false })).toBe('drains free zh');
    expect(await list({ state: 'draining' })).toBe('drains');
    expect(await list({ failing: true })).toBe('');
    expect(await list({ id: 'FULL' })).toBe('Full-1');
    const { counts } = await world.gateway.listAgents({ ...AGENTS, tag: 'zh' });
    expect(counts).toMatchObject({ total: 4, draining: 1, full: 1, failing: 0 });
  });

  test('come page by page, each agent once', async () => {
    const world = await start();
    await arrange(world);
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await world.gateway.listAgents({ ...AGENTS, limit: 1, ...(cursor && { cursor }) });
      ids.push(...page.agents.map(({ agent_id }) => agent_id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(ids).toEqual(['Full-1', 'drains', 'free', 'zh']);
  });

  test('one agent that is not registered is not found', async () => {
    const world = await start();
    await arrange(world);
    for (const agent_id of ['left', 'never', '__proto__']) {
      await expect(world.gateway.getAgent(agent_id)).rejects.toMatchObject({ code: 'agent_not_found' });
    }
    expect(await world.gateway.getAgent('zh')).toMatchObject({ state: 'ready', slots: [], pushes: [] });
  });
});

describe.each(QUICK_STORES)('on %s, with more agents than a page has', (_name, open) => {
  const start = useWorlds(open);

  test('a page has those that match, wherever they stand', async () => {
    const world = await start({ agentsMax: 2_000 });
    for (let n = 0; n < 1_010; n += 1) await world.gateway.registerAgent(buildRegistration(`a${n}`));
    await register(world, 'b', { agent_tags: ['rare'] });
    const query = { ...AGENTS, sort: 'id', tag: 'rare' } as const;
    const page = await world.gateway.listAgents(query);
    expect(page.agents.map(({ agent_id }) => agent_id)).toEqual(['b']);
    expect(page.next_cursor).toBeNull();
  });
});
