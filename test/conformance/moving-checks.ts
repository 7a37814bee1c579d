/** The checks of the guide's section "When a running task moves" (L1). */
import { awaitAgent, awaitPush, awaitState, awaitTaken, giveTask, readHistory } from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { requireEqual } from './findings.ts';
import type { Agent, Kit } from './kit.ts';
import { requireObject } from './subject.ts';

/** Has an agent refuse its task and leave, before its next push would come. */
async function leaves(kit: Kit, status: number, leave: (agent: Agent) => Promise<unknown>): Promise<void> {
  const agent = await kit.startAgent({}, status);
  const request_id = await giveTask(kit, agent);
  await awaitPush(kit, agent);
  await kit.until('the push has failed', async () =>
    (await readHistory(kit, request_id)).has('push_not_taken') ? true : undefined,
  );
  await leave(agent);
  const other = await kit.startAgent({ agent_tags: [agent.tag] });
  await awaitAgent(kit, request_id, other);
  requireEqual(kit.pushesTo(agent).length, 1, 'The pushes to the agent that the task has left');
}

/** A task that its agent has taken stays with it until the agent registers again and leaves the task out. */
async function keepsTaken(kit: Kit): Promise<void> {
  const first = await kit.startAgent({}, (_push, count) => (count === 1 ? 202 : 503));
  const request_id = await giveTask(kit, first);
  await awaitPush(kit, first);
  const second = await kit.startAgent({ agent_tags: [first.tag] });
  requireObject(await kit.callAs(first, 'heartbeat', { request_ids: [] }));
  requireObject(await kit.callAs(second, 'heartbeat'));
  const { agent_id } = await kit.get(request_id);
  requireEqual(agent_id, first.agent_id, '`agent_id` of a task that its agent has taken');
  requireObject(await kit.callAs(first, 'register', { ...first.registration, request_ids: [] }));
  await awaitAgent(kit, request_id, second);
  requireObject(await kit.cancel(request_id));
}

export const MOVING_CHECKS: Readonly<Record<string, Check>> = {
  'moving.not-taken-it-and': async (kit) => {
    await leaves(kit, 404, (agent) => kit.callAs(agent, 'unregister'));
    await leaves(kit, 410, (agent) => awaitState(kit, agent, 'offline'));
  },
  'moving.not-taken-it-its': async (kit) => {
    const tag = kit.name('tag');
    const busy = { ...(await kit.startAgent({ agent_tags: [tag] }, 503)), tag };
    const request_id = await giveTask(kit, busy);
    await awaitPush(kit, busy);
    const other = await kit.startAgent({ agent_tags: [tag] });
    await awaitAgent(kit, request_id, other);
    requireEqual(kit.pushesTo(busy).length, 1, 'The pushes to the busy agent');
  },
  'moving.it-moves-to-another': async (kit) => {
    const busy = await kit.startAgent({}, 503);
    const full = await kit.startAgent({ agent_tags: [busy.tag], max_concurrent: 1, current_load: 1 });
    const request_id = await giveTask(kit, busy);
    await awaitPush(kit, busy, 2);
    requireEqual((await kit.get(request_id)).agent_id, busy.agent_id, '`agent_id` while no other has room');
    requireObject(await kit.callAs(full, 'heartbeat', { current_load: 0 }));
    await awaitAgent(kit, request_id, full);
  },
  'fields.a-task-that-the': async (kit) => {
    const agent = await kit.startAgent({}, (_push, count) => (count <= 2 ? 202 : 503));
    const [named, forgotten] = [await giveTask(kit, agent), await giveTask(kit, agent)];
    for (const request_id of [named, forgotten]) await awaitTaken(kit, request_id);
    const again = { ...agent.registration, request_ids: [named] };
    requireObject(await kit.callAs(agent, 'register', again));
    const push = await awaitPush(kit, agent, 3);
    requireEqual(push.headers['webhook-id'], forgotten, '`webhook-id` of the push behind the registration');
    const other = await kit.startAgent({ agent_tags: [agent.tag] });
    await awaitAgent(kit, forgotten, other);
    requireEqual((await kit.get(named)).agent_id, agent.agent_id, '`agent_id` of the task that it named');
    requireEqual(kit.pushesTo(agent).length, 3, 'The pushes to the agent that registered again');
    await keepsTaken(kit);
  },
};
