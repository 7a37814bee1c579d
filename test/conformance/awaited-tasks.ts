/** What checks wait for, such as a task that an agent has or a push; and how they submit and drain. */
import { type Fields, isFields, requireEqual } from './findings.ts';
import { type Agent, type Kit, requireAdmin } from './kit.ts';
import type { Push } from './pushed-agents.ts';
import { requireObject } from './subject.ts';

const ENDED = ['success', 'failed'];

/** Waits until a task meets the condition. */
function awaitTask(
  kit: Kit,
  request_id: unknown,
  what: string,
  is: (task: Fields) => boolean,
): Promise<Fields> {
  return kit.until(what, async () => {
    const task = await kit.get(request_id);
    return is(task) ? task : undefined;
  });
}

/** Waits until a task has ended. */
export function awaitEnd(kit: Kit, request_id: unknown): Promise<Fields> {
  return awaitTask(kit, request_id, 'the task ends', ({ status }) => ENDED.includes(String(status)));
}

/** Waits until an agent has a task. */
export function awaitAgent(
  kit: Kit,
  request_id: unknown,
  { agent_id }: Pick<Agent, 'agent_id'>,
): Promise<Fields> {
  return awaitTask(
    kit,
    request_id,
    `${agent_id} has the task`,
    (task) => task.agent_id === agent_id && task.status === 'running',
  );
}

/** Waits for an agent's n-th push, counted from 1. */
export function awaitPush(kit: Kit, agent: Pick<Agent, 'agent_id'>, count = 1): Promise<Push> {
  return kit.until(`push ${count} to ${agent.agent_id}`, () => kit.pushesTo(agent)[count - 1]);
}

/** Waits until a match shows an agent in a state. */
export function awaitState(kit: Kit, agent: Agent, state: string): Promise<Fields> {
  return kit.until(`${agent.agent_id} is ${state}`, async () => {
    const seen = await kit.look(agent);
    return seen?.state === state ? seen : undefined;
  });
}

/** Waits until a task is in the queue, which may take a moment after its submission. */
export async function awaitWaiting(kit: Kit, request_id: unknown): Promise<void> {
  await kit.until('the task waits', async () =>
    (await kit.explain(request_id)).waiting === true ? true : undefined,
  );
}

/** Waits until the gateway knows that its agent has taken a task. */
export async function awaitTaken(kit: Kit, request_id: unknown): Promise<void> {
  await kit.until('the task is acknowledged', async () =>
    (await kit.explain(request_id)).acknowledged === true ? true : undefined,
  );
}

/** Submits a task that the gateway must accept; returns its id. */
export async function submitTask(kit: Kit, tags: readonly string[], more: Fields = {}): Promise<unknown> {
  return requireObject(await kit.submit(tags, more)).request_id;
}

/** Submits a task that must go to this agent; returns its id. */
export async function giveTask(kit: Kit, agent: Agent, more: Fields = {}): Promise<unknown> {
  const request_id = await submitTask(kit, [agent.tag], more);
  await awaitAgent(kit, request_id, agent);
  return request_id;
}

/** Submits a task that no agent qualifies for. */
export async function requireNoAgent(kit: Kit, tags: readonly string[], when: string): Promise<void> {
  const { error_info } = await awaitEnd(kit, await submitTask(kit, tags));
  requireEqual(error_info, '无可用 Agent', `\`error_info\` of a task ${when}`);
}

/** Drains an agent as the administrator, or ends that; returns the response. */
export async function drain(
  kit: Kit,
  { agent_id }: Pick<Agent, 'agent_id'>,
  draining = true,
): Promise<Fields> {
  const sent = { json: { draining }, headers: { 'x-admin-auth': requireAdmin(kit) } };
  return requireObject(await kit.subject.call('POST', `/api/admin/agents/${agent_id}/drain`, sent));
}

/** Returns the kinds of what happened to a task, each with its count. */
export async function readHistory(kit: Kit, request_id: unknown): Promise<ReadonlyMap<unknown, number>> {
  const { history } = await kit.explain(request_id);
  const counts = new Map<unknown, number>();
  for (const entry of Array.isArray(history) ? history.filter(isFields) : [])
    counts.set(entry.event, (counts.get(entry.event) ?? 0) + Number(entry.count));
  return counts;
}
