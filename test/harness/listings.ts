/** All agents as one value, and the counts of tasks, without HTTP. */
import type { AgentPage, ListedAgent, TaskFilter, TaskTotals } from '../../server/ports/admin.ts';
import type { Gateway } from '../../server/ports/gateway.ts';

type AgentsPage = { readonly agents: readonly ListedAgent[]; readonly total: number };

const QUERY = { sort: 'id', limit: 100 } as const;

export async function listAgents(gateway: Gateway): Promise<AgentsPage> {
  const agents: ListedAgent[] = [];
  let cursor: string | null = null;
  do {
    const page: AgentPage = await gateway.listAgents({ ...QUERY, ...(cursor !== null && { cursor }) });
    agents.push(...page.agents);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return { agents, total: agents.length };
}

export async function countTasks(gateway: Gateway, filter: TaskFilter): Promise<TaskTotals> {
  const { counts } = await gateway.listTasks({ ...filter, limit: 1, counts: true });
  if (counts === null) throw new Error('the page has no counts');
  return counts;
}
