/** Which agents would get a task with given tags, asked for by HTTP on a whole gateway on each engine. */
import type { components } from '@task-gateway/contract';
import { afterEach, expect, test } from 'vitest';
import { ADMIN_SECRET, startTestServer } from '../harness/http-server.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { useWorlds } from '../harness/worlds.ts';

type Preview = components['schemas']['MatchPreview'];

async function register(world: World, agent_id: string, more = {}): Promise<void> {
  await world.gateway.registerAgent(
    buildRegistration(agent_id, { agent_tags: ['gpu'], max_concurrent: 4, ...more }),
  );
  await world.runUntilIdle();
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function serve(world: World): Promise<string> {
  const server = await startTestServer(world.gateway);
  stops.push(() => server.stop(0));
  return server.url;
}

describeEachStore('on %s, a preview', (_name, open) => {
  const start = useWorlds(open);

  async function preview(world: World, task_tags: readonly string[]): Promise<Preview> {
    const response = await fetch(`${await serve(world)}/api/cli/match`, {
      method: 'POST',
      headers: { 'x-admin-auth': ADMIN_SECRET },
      body: JSON.stringify({ task_tags }),
    });
    expect(response.status).toBe(200);
    return await response.json();
  }

  test('names the nearest agents and what keeps each, by the administrator’s secret alone', async () => {
    const world = await start();
    await register(world, 'free', { agent_tags: ['gpu', 'zh-en'] });
    await register(world, 'full', { current_load: 4, agent_tags: ['gpu', 'zh-en'] });
    await register(world, 'one-tag');
    await register(world, 'draining');
    await world.gateway.heartbeatAgent({ agent_id: 'draining', draining: true });
    await register(world, 'alike', { agent_tags: ['zhen'] });
    await register(world, 'other', { agent_tags: ['translate'] });
    await register(world, 'gone', { agent_tags: ['gpu'] });
    await world.gateway.unregisterAgent('gone');
    const { match, hint, remedies } = await preview(world, ['gpu', 'zh-en', 'ZhEn']);
    expect(match.agents.map(({ agent_id, reason }) => `${agent_id} ${reason}`)).toEqual([
      ...['free eligible', 'full full', 'one-tag eligible', 'draining draining'],
    ]);
    expect([match.live, match.agents_total]).toEqual([true, 6]);
    expect(match.sharing).toEqual({ agents: 4, eligible: 2, full: 1, draining: 1, offline: 0 });
    expect(match.tags).toEqual([
      { tag: 'gpu', agents: 4, free: 2, similar: null },
      { tag: 'zh-en', agents: 2, free: 1, similar: null },
      { tag: 'ZhEn', agents: 0, free: 0, similar: { tag: 'zh-en', agents: 2, free: 1 } },
    ]);
    expect(hint).toBe('Agent `free` would get the task: it has a free slot. So could 1 other agent.');
    expect(remedies).toEqual([]);
    // It submitted nothing.
    expect((await world.store.list('tasks', {}, { limit: 1 })).items).toEqual([]);
  });

  test('of agents that share no tag names those with the nearest one, and counts the others', async () => {
    const world = await start();
    await register(world, 'other', { agent_tags: ['translate'] });
    for (const agent_id of ['gpu-a', 'gpu-b']) await register(world, agent_id, { agent_tags: ['gpu'] });
    const { match } = await preview(world, ['gpu2', 'ocr']);
    expect(match.agents.map(({ agent_id, reason }) => `${agent_id} ${reason}`)).toEqual([
      'gpu-a no_shared_tag',
      'gpu-b no_shared_tag',
    ]);
    expect([match.agents_total, match.sharing.agents]).toEqual([3, 0]);
  });

  test('names twenty agents of many, and reads no more of them', async () => {
    const reads: string[] = [];
    const world = await start({
      wrap: (store) => ({
        ...store,
        getAgentStatus(agent_id) {
          reads.push(agent_id);
          return store.getAgentStatus(agent_id);
        },
      }),
    });
    for (let n = 0; n < 60; n += 1) await register(world, `gpu-${n}`, { current_load: n < 30 ? 4 : 0 });
    reads.splice(0);
    const { match } = await preview(world, ['gpu']);
    expect(match.sharing).toEqual({ agents: 60, eligible: 30, full: 30, draining: 0, offline: 0 });
    expect(match.agents.map(({ reason }) => reason)).toEqual(Array(20).fill('eligible'));
    expect(reads.length).toBeLessThanOrEqual(20);
  });
});
