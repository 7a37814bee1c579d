/** The gateway's two listings as whole values, without HTTP. */
import type { TaskInfo } from '../../server/domain/task.ts';
import type { AgentListing, Gateway, TaskQuery } from '../../server/ports/gateway.ts';

type AgentsPage = { readonly agents: readonly AgentListing[]; readonly total: number };
export type TasksPage = { readonly tasks: readonly TaskInfo[]; readonly next_cursor: string | null };

export async function listAgents(gateway: Gateway): Promise<AgentsPage> {
  const agents: AgentListing[] = [];
  for await (const agent of gateway.listAgents()) agents.push(agent);
  return { agents, total: agents.length };
}

export async function listTasks(gateway: Gateway, query: TaskQuery): Promise<TasksPage> {
  const page = await gateway.listTasks(query, (task) => Buffer.from(JSON.stringify(task)));
  return { ...page, tasks: page.tasks.map((task) => JSON.parse(String(task))) };
}
