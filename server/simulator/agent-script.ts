/** The types with which a test describes the agents of a world. `scripted-agents.ts` plays these agents. */
import type { Given, Schemas } from './document.ts';

/** Takes a push and responds as a server would: `(request) => agent.fetch(request)`. */
export type PushHandler = (request: Request) => Response | Promise<Response>;

/** A scripted agent, as the simulator's document defines it. */
export type AgentScript = Given<Schemas['AgentScript']>;
/** What an agent does with each of its tasks. */
export type Behaviour = Schemas['Behaviour'];
/** A scripted agent in its present state. */
export type ScriptedAgent = Given<Schemas['ScriptedAgent']>;

export type Agents = {
  /**
   * Registers an agent. If its `agent_id` exists, the new script is another process of that agent. Rejects
   * with a `TypeError` if the document does not allow the script or the gateway refuses the registration.
   */
  add(script: AgentScript): Promise<ScriptedAgent>;
  list(): readonly ScriptedAgent[];
  /** Unregisters an agent. Resolves with false if no script has this id. */
  remove(agent_id: string): Promise<boolean>;
  /**
   * Sends the pushes of an endpoint to a handler, such as `(request) => agent.fetch(request)`. Only possible
   * in process.
   */
  handle(endpoint: string, handler: PushHandler): void;
};
