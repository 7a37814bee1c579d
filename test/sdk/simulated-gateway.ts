/** A simulated gateway for tests of the SDK in real time, and what such a test asks of it. */
import { type AgentId, createClient, type Task } from '../../sdk/index.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../server/simulator/index.ts';

export type SimulatedGateway = {
  readonly world: Simulator;
  /** The options with which clients and agents reach it, on the SDK's own clock. */
  readonly options: Omit<Simulator['options'], 'clock'>;
  /** All tasks, the oldest first. */
  tasks(): Promise<readonly Task[]>;
  /** The ids of the registered agents. */
  agents(): Promise<readonly AgentId[]>;
  /** Unregisters all agents: the response to their next call is 404. */
  forgetAgents(): Promise<void>;
};

/** Creates it. */
export function createSimulatedGateway(settings: SimulatorOptions = {}): SimulatedGateway {
  const world = createSimulator(settings);
  const { baseUrl, auth, fetch, logLevel } = world.options;
  const options = { baseUrl, auth, fetch, logLevel };
  const client = createClient({ ...options, adminAuth: world.adminAuth });
  const listAgents = async () => (await client.listAgents()).agents.map(({ agent_id }) => agent_id);
  return {
    world,
    options,
    agents: listAgents,
    async tasks() {
      const { tasks } = await client.listTasks();
      return await Promise.all(tasks.toReversed().map(({ request_id }) => client.getTask(request_id)));
    },
    async forgetAgents() {
      for (const agent_id of await listAgents()) await client.unregisterAgent({ agent_id });
    },
  };
}
