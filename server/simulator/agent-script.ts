/** The agents of a world as a test describes them. `scripted-agents.ts` plays them. */
import type { Given, Schemas } from './document.ts';

/** Takes a push and responds to it, as a server would: `(request) => agent.fetch(request)`. */
export type PushHandler = (request: Request) => Response | Promise<Response>;

/** A scripted agent, as the simulator's document has it. */
export type AgentScript = Given<Schemas['AgentScript']>;
/** One thing that an agent does with each of its tasks. */
export type Behaviour = Schemas['Behaviour'];
/** A scripted agent as it is now. */
export type ScriptedAgent = Given<Schemas['ScriptedAgent']>;

export type Agents = {
  /**
   * Registers an agent; of the same `agent_id`, it is another process of it. Rejects with a `TypeError` if
   * the script is not as the document says, or the gateway refuses the registration.
   */
  add(script: AgentScript): Promise<ScriptedAgent>;
  list(): readonly ScriptedAgent[];
  /** Unregisters an agent; false if no script has this id. */
  remove(agent_id: string): Promise<boolean>;
  /**
   * Sends the pushes of an endpoint to a handler, such as `(request) => agent.fetch(request)`.
   * In process alone.
   */
  handle(endpoint: string, handler: PushHandler): void;
};
