/**
 * Ids of agents and tasks do not mix: in no place where the SDK takes one or gives one does the other
 * compile. A text from elsewhere always does. Nothing here runs: the type check is the test.
 */
import { type AgentNotice, createAgent, type Handler } from '../../sdk/agent/index.ts';
import type {
  AgentId,
  RequestId,
  SessionId,
  Task,
  TaskGatewayClient,
  TaskGatewayError,
} from '../../sdk/index.ts';
import { runHandler } from '../../sdk/testing/index.ts';

declare const client: TaskGatewayClient;
declare const running: Extract<Task, { status: 'running' }>;
const { request_id, agent_id, cli_session_id } = running;
const text: string = 'any text from elsewhere';

export async function callsTakeTheirOwnIds(): Promise<void> {
  // 1: the calls of tasks.
  // @ts-expect-error An agent is not a task.
  await client.getTask(agent_id);
  // @ts-expect-error An agent is not a task.
  await client.cancelTask(agent_id);
  // @ts-expect-error An agent is not a task.
  await client.explainTask(agent_id);
  // 2: the calls of agents.
  // @ts-expect-error A task is not an agent.
  await client.getAgent(request_id);
  // @ts-expect-error A task is not an agent.
  await client.unregisterAgent({ agent_id: request_id });
  // @ts-expect-error A task is not an agent.
  await client.registerAgent({ agent_id: request_id, endpoint: 'pull', agent_tags: [] });
  // @ts-expect-error A task is not an agent.
  await client.heartbeatAgent({ agent_id: request_id });
  // @ts-expect-error A task is not an agent.
  await client.claimTask({ agent_id: request_id });
  // 3: what an agent says of its tasks.
  // @ts-expect-error Agents are not tasks.
  await client.registerAgent({ agent_id, endpoint: 'pull', agent_tags: [], request_ids: [agent_id] });
  // @ts-expect-error Agents are not tasks.
  await client.heartbeatAgent({ agent_id, request_ids: [agent_id] });
  // @ts-expect-error Agents are not tasks.
  await client.claimTask({ agent_id, request_ids: [agent_id] });
  // 4: a report names both.
  // @ts-expect-error They are the wrong way round.
  await client.reportResult({ request_id: agent_id, agent_id: request_id, status: 'failed' });
  // 5: the sessions.
  // @ts-expect-error An agent is not a session.
  client.subscribeEvents(agent_id);
  // @ts-expect-error A task is not a session.
  await client.submitTask({ task_type: 'x', task_tags: [], payload: {}, cli_session_id: request_id });
}

export async function filtersTakeTheirOwnIds(): Promise<void> {
  // 6: the filters of tasks.
  // @ts-expect-error A task is not an agent.
  await client.listTasks({ agent: request_id });
  // @ts-expect-error An agent is not a task.
  await client.listTasks({ id: agent_id });
  // @ts-expect-error A task is not a session.
  await client.listTasks({ session: request_id });
  // @ts-expect-error A task is not an agent.
  await client.cancelTasks({ created_before: 1, filter: { agent: request_id } });
  // @ts-expect-error Agents are not tasks.
  await client.cancelTasks({ created_before: 1, request_ids: [agent_id] });
  // 7: the filter of agents.
  // @ts-expect-error A task is not an agent.
  await client.listAgents({ id: request_id });
}

export async function responsesGiveIdsOfTheirKind(): Promise<void> {
  // 8: the responses to calls of tasks and of agents.
  const cancelled = await client.cancelTask(request_id);
  const reported = await client.reportResult({ request_id, agent_id, status: 'failed' });
  const registered = await client.registerAgent({ agent_id, endpoint: 'pull', agent_tags: [] });
  const beaten = await client.heartbeatAgent({ agent_id });
  // @ts-expect-error A task is not an agent.
  await client.getAgent(cancelled.request_id);
  // @ts-expect-error A task is not an agent.
  await client.getAgent(reported.request_id);
  // @ts-expect-error An agent is not a task.
  await client.getTask(registered.agent_id);
  // @ts-expect-error Tasks are not agents.
  for (const one of registered.cancelled_request_ids) await client.getAgent(one);
  // @ts-expect-error Tasks are not agents.
  for (const one of beaten.cancelled_request_ids) await client.getAgent(one);
  // 9: the listings, and what stands deep in them.
  const [agent] = (await client.listAgents()).agents;
  const [row] = (await client.listTasks()).tasks;
  const overview = await client.getOverview();
  const { match, history } = await client.explainTask(request_id);
  const detail = await client.getAgent(agent_id);
  if (!agent || !row) return;
  // @ts-expect-error An agent is not a task.
  await client.getTask(agent.agent_id);
  // @ts-expect-error An agent is not a task.
  if (row.agent_id) await client.getTask(row.agent_id);
  // @ts-expect-error A session is not a task.
  await client.getTask(row.cli_session_id);
  // @ts-expect-error Tasks are not agents.
  for (const one of overview.oldest_waiting) await client.getAgent(one.request_id);
  // @ts-expect-error An agent is not a task.
  for (const one of overview.problems) if (one.agent_id) await client.getTask(one.agent_id);
  // @ts-expect-error Agents are not tasks.
  for (const one of match?.agents ?? []) await client.getTask(one.agent_id);
  // @ts-expect-error An agent is not a task.
  for (const one of history) if (one.agent_id) await client.getTask(one.agent_id);
  // @ts-expect-error Tasks are not agents.
  for (const one of detail.slots) await client.getAgent(one.request_id);
  // @ts-expect-error Tasks are not agents.
  for (const one of detail.pushes) await client.getAgent(one.request_id);
}

export async function eventsAndErrorsGiveIdsOfTheirKind(error: TaskGatewayError): Promise<void> {
  // 10: the events, and the errors.
  // @ts-expect-error A task is not an agent.
  for await (const event of client.subscribeEvents(cli_session_id)) await client.getAgent(event.request_id);
  // @ts-expect-error A task is not an agent.
  if (error.request_id) await client.getAgent(error.request_id);
  // @ts-expect-error A session is not a task.
  if (error.cli_session_id) await client.getTask(error.cli_session_id);
}

// @ts-expect-error A task is not an agent.
export const mixed: Handler = async (task) => void (await client.getAgent(task.request_id));

export async function theKitGivesAndTakesItsOwnIds(notice: AgentNotice): Promise<void> {
  // 11: the agent and its notices.
  // @ts-expect-error A task is not an agent.
  const agent = createAgent({ agentId: request_id, tags: [], handler: () => undefined });
  // @ts-expect-error An agent is not a task.
  await client.getTask(agent.agentId);
  // @ts-expect-error An agent is not a task.
  if (notice.kind === 'registered') await client.getTask(notice.agent_id);
  // @ts-expect-error A task is not an agent.
  if (notice.kind === 'dropped' || notice.kind === 'reported') await client.getAgent(notice.request_id);
  // 12: a handler that is run by itself.
  // @ts-expect-error An agent is not a task.
  await runHandler(() => undefined, { request_id: agent_id });
}

/** A text from elsewhere is taken everywhere, and an id is a text. */
export async function textsAreIds(): Promise<readonly string[]> {
  await client.getTask(text);
  await client.getAgent(text);
  await client.reportResult({ request_id: text, agent_id: text, status: 'failed' });
  await client.heartbeatAgent({ agent_id: text, request_ids: [text] });
  await client.cancelTasks({ created_before: 1, filter: { agent: text, id: text, session: text } });
  await client.listAgents({ id: text });
  client.subscribeEvents(text);
  const named: [RequestId, AgentId, SessionId] = [text, text, text];
  const rows = new Map<string, Task>([[request_id, running]]);
  return [...named, ...rows.keys(), request_id.slice(-8)];
}
