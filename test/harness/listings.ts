/** All agents as one value, and the counts of tasks, without HTTP. */
import type { TaskFilter, TaskTotals } from '../../server/ports/admin.ts';
import type { AgentListing, Gateway } from '../../server/ports/gateway.ts';

type AgentsPage = { readonly agents: readonly AgentListing[]; readonly total: number };

export async function listAgents(gateway: Gateway): Promise<AgentsPage> {
  const agents: AgentListing[] = [];
  for await (const agent of gateway.listAgents()) agents.push(agent);
  return { agents, total: agents.length };
}

export async function countTasks(gateway: Gateway, filter: TaskFilter): Promise<TaskTotals> {
  const { counts } = await gateway.listTasks({ ...filter, limit: 1, counts: true });
  if (counts === null) throw new Error('the page has no counts');
  return counts;
}
