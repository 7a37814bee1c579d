/** The calls that most suites of the gateway make on a world. */
import type { TaskInfo } from '../../server/domain/task.ts';
import type { ListedAgent } from '../../server/ports/admin.ts';
import type { PushOutcome } from '../../server/ports/pusher.ts';
import { listAgents } from './listings.ts';
import { buildRegistration, buildSubmission, NEVER, type World } from './world.ts';

export async function read(world: World, request_id: string): Promise<TaskInfo> {
  return (await world.gateway.getTask(request_id, 0, NEVER)).task;
}

/** Submits a task and lets the world run until it is idle; resolves to its id. */
export async function submit(world: World, more = {}): Promise<string> {
  const { request_id } = await world.gateway.submitTask(buildSubmission(more));
  await world.runUntilIdle();
  return request_id;
}

/** Submits, like `submit`, a task that outlasts what happens to its agent. */
export function submitLong(world: World, more = {}): Promise<string> {
  return submit(world, { timeout: 3_600, ...more });
}

/** Returns an agent as the administrator sees it; undefined if it is not listed. */
export async function agentOf(world: World, agent_id: string): Promise<ListedAgent | undefined> {
  return (await listAgents(world.gateway)).agents.find((one) => one.agent_id === agent_id);
}

/** Returns the endpoint of an agent that `buildRegistration()` describes. */
export const urlOf = (agent_id: string): string => `http://${agent_id}.test/tasks`;

/** Registers an agent that responds to pushes with this outcome, or as before. */
export async function registerAnswering(
  world: World,
  agent_id: string,
  outcome?: PushOutcome,
  more = {},
): Promise<void> {
  if (outcome) world.pusher.script(urlOf(agent_id), outcome);
  await world.gateway.registerAgent(buildRegistration(agent_id, more));
  await world.runUntilIdle();
}

/** Returns the agent to which a task is assigned. */
export async function ownerOf(world: World, request_id: string): Promise<string | null> {
  return (await read(world, request_id)).agent_id;
}

/** Returns how many pushes an agent was sent. */
export function pushesTo(world: World, agent_id: string): number {
  return world.pusher.sent.filter(({ endpoint }) => endpoint === urlOf(agent_id)).length;
}

/** Sends heartbeats for the agents while time passes, so that they stay online. */
export async function passOnline(world: World, ms: number, ...agents: readonly string[]): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= 10_000) {
    for (const agent_id of agents) await world.gateway.heartbeatAgent({ agent_id });
    await world.pass(Math.min(10_000, leftMs));
  }
}
