/** The agents of a model run: their names, where they are, and what they run. */
import type { Store } from '../../server/ports/store.ts';

/** The tasks that hold a slot of the agent, at most 100. */
export async function listRunning(store: Store, agent: number): Promise<string[]> {
  const { items } = await store.list('slots', { agent_id: nameAgent(agent) }, { limit: 100 });
  return items.map(({ request_id }) => request_id);
}

/** The agent's id. */
export function nameAgent(agent: number): string {
  return `A${agent}`;
}

/** The endpoint that the agent's tasks are pushed to. */
export function nameEndpoint(agent: number): string {
  return `http://${nameAgent(agent)}.test/tasks`;
}
