/** The calls that most suites of the gateway make on a world. */
import type { TaskInfo } from '../../server/domain/task.ts';
import type { AgentListing } from '../../server/ports/gateway.ts';
import { listAgents } from './listings.ts';
import { buildSubmission, NEVER, type World } from './world.ts';

/** Reads a task. */
export function read(world: World, request_id: string): Promise<TaskInfo> {
  return world.gateway.getTask(request_id, 0, NEVER);
}

/** Submits a task and lets the world run until it is idle; resolves with its id. */
export async function submit(world: World, more = {}): Promise<string> {
  const { request_id } = await world.gateway.submitTask(buildSubmission(more));
  await world.runUntilIdle();
  return request_id;
}

/** As `submit`, of a task that outlasts what happens to its agent. */
export function submitLong(world: World, more = {}): Promise<string> {
  return submit(world, { timeout: 3_600, ...more });
}

/** An agent as the administrator sees it; undefined when it is not listed. */
export async function agentOf(world: World, agent_id: string): Promise<AgentListing | undefined> {
  return (await listAgents(world.gateway)).agents.find((one) => one.agent_id === agent_id);
}
