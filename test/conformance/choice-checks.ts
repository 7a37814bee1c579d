/** The checks of the guide's section "Which agent gets a task" (L1). */
import {
  awaitAgent,
  awaitEnd,
  awaitPush,
  awaitState,
  awaitWaiting,
  giveTask,
  requireNoAgent,
  submitTask,
} from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { type Fields, requireEqual } from './findings.ts';
import type { Agent, Kit } from './kit.ts';
import { requireObject } from './subject.ts';

type Tagged = Fields & { readonly agent_tags: readonly string[] };

/** Starts two agents that claim and that a match shows. */
async function startAgents(kit: Kit, all: readonly Tagged[]): Promise<readonly [Agent, Agent]> {
  const agents = [];
  for (const more of all) {
    const { agent_tags } = more;
    const agent = { ...(await kit.startAgent({ endpoint: 'pull', ...more })), tag: agent_tags[0] ?? '' };
    await awaitState(kit, agent, 'ready');
    agents.push(agent);
  }
  return agents as unknown as readonly [Agent, Agent];
}

/** Starts an agent with one slot, gives it a task, and submits others that wait for it in this order. */
async function startQueue(kit: Kit, count: number) {
  const agent = await kit.startAgent({ endpoint: 'pull', max_concurrent: 1 });
  const first = await giveTask(kit, agent);
  const waiting = [];
  for (let index = 0; index < count; index += 1) {
    const request_id = await submitTask(kit, [agent.tag], { queue_timeout: 60 });
    await awaitWaiting(kit, request_id);
    waiting.push(request_id);
  }
  return { agent, first, waiting };
}

export const CHOICE_CHECKS: Readonly<Record<string, Check>> = {
  'choice.an-agent-qualifies-if': async (kit) => {
    const tag = kit.name('tag');
    const tags = { agent_tags: [kit.name('other'), tag] };
    const draining = await kit.startAgent(tags);
    await kit.callAs(draining, 'heartbeat', { draining: true });
    const silent = { ...(await kit.startAgent({ ...tags, lost_after: 3 })), tag };
    await kit.startAgent({ ...tags, max_concurrent: 2, current_load: 2 });
    await kit.startAgent();
    await awaitState(kit, silent, 'offline');
    await requireNoAgent(kit, [tag], 'for agents that drain, are offline, full or have no tag of it');
    const one = { ...(await kit.startAgent({ ...tags, max_concurrent: 2 })), tag };
    for (const _state of ['ready', 'processing']) await giveTask(kit, one);
    await requireNoAgent(kit, [tag], 'for an agent that has become full');
  },
  'choice.of-several-agents-whose': async (kit) => {
    const [x, y] = [kit.name('tag'), kit.name('tag')];
    const failing = { ...(await kit.startAgent({ agent_tags: [x, y] }, 404)), tag: y };
    const refused = await giveTask(kit, failing);
    await awaitPush(kit, failing);
    await kit.until('its push has failed', async () =>
      (await kit.look(failing))?.push_failing === true ? true : undefined,
    );
    await kit.cancel(refused);
    const other = { ...(await kit.startAgent({ agent_tags: [x] })), tag: x };
    await awaitState(kit, other, 'ready');
    await awaitAgent(kit, await submitTask(kit, [x, y]), other);
  },
  'choice.then-the-order-is': async (kit) => {
    const [x, y] = [kit.name('tag'), kit.name('tag')];
    const [, more] = await startAgents(kit, [
      { agent_tags: [x] },
      { agent_tags: [x, y], max_concurrent: 4, current_load: 3 },
    ]);
    await awaitAgent(kit, await submitTask(kit, [x, y]), more);

    const same = { agent_tags: [kit.name('tag')] };
    const [, lower] = await startAgents(kit, [
      { ...same, max_concurrent: 2, current_load: 1 },
      { ...same, max_concurrent: 4, current_load: 1 },
    ]);
    await awaitAgent(kit, await submitTask(kit, same.agent_tags), lower);

    const tag = { agent_tags: [kit.name('tag')] };
    // By code points the second one would be smaller.
    const name = kit.name('agent');
    const [smaller, larger] = await startAgents(kit, [
      { ...tag, agent_id: `${name}-\u{1f600}` },
      { ...tag, agent_id: `${name}-\uff5e` },
    ]);
    for (const agent of [smaller, larger, smaller]) {
      const request_id = await submitTask(kit, tag.agent_tags);
      await awaitAgent(kit, request_id, agent);
      requireObject(await kit.report(agent, request_id, {}));
      await awaitState(kit, agent, 'ready');
    }
  },
  'choice.an-agent-that-comes': async (kit) => {
    const { agent, first, waiting } = await startQueue(kit, 3);
    let before = first;
    for (const request_id of waiting) {
      requireObject(await kit.report(agent, before, {}));
      await awaitAgent(kit, request_id, agent);
      const statuses = [];
      for (const one of waiting) statuses.push((await kit.get(one)).status);
      requireEqual(statuses.filter((status) => status === 'running').length, 1, 'How many of them run');
      before = request_id;
    }
  },
  'choice.a-task-that-is': async (kit) => {
    const { agent, first, waiting } = await startQueue(kit, 1);
    const [, behind, failing] = await Promise.all([
      kit.report(agent, first, {}),
      submitTask(kit, [agent.tag], { queue_timeout: 60 }),
      submitTask(kit, [agent.tag]),
    ]);
    await awaitAgent(kit, waiting[0], agent);
    requireEqual(
      (await kit.get(behind)).status,
      'pending',
      '`status` of the task behind the one that waited',
    );
    const { error_info } = await awaitEnd(kit, failing);
    requireEqual(error_info, '无可用 Agent', '`error_info` of the task that may not wait');
    requireObject(await kit.report(agent, waiting[0], {}));
    await awaitAgent(kit, behind, agent);
  },
};
