/** What an agent is told: its options, what of them stands in the environment, and what can't work. */
import type { AgentId } from '../contract.ts';
import { InvalidOptionError } from '../errors.ts';
import { createId } from '../ids.ts';
import { type ClientOptions, readVariable } from '../settings.ts';
import type { AgentNotice } from './log-events.ts';
import type { ListenOptions } from './server.ts';
import type { Handler } from './work.ts';

/** What an agent is and where it works. How it reaches the gateway is told as to a client, or by the environment. */
export type AgentOptions = Omit<ClientOptions, 'adminAuth'> & {
  /**
   * The agent's name: of two processes with one name the gateway would make one agent. Without one it gets a random
   * one, and a restart makes another agent of it. `TASK_GATEWAY_AGENT_ID`
   */
  readonly agentId?: AgentId | undefined;
  /** It gets tasks that have at least one of these tags. */
  readonly tags: readonly string[];
  /** How many tasks it works on at once; 1 unless told otherwise. */
  readonly maxConcurrent?: number | undefined;
  /** Does the work. */
  readonly handler: Handler;
  /**
   * How tasks come. `pull`: the agent claims them and needs no port. A URL: the gateway pushes them there, to the
   * server the agent opens (`listen`) or to one of yours that hands them to `agent.fetch` or `agent.listener`. Absent:
   * the address of `listen`, or `pull`.
   */
  readonly endpoint?: 'pull' | (string & {}) | undefined;
  /** Open a server for pushes here. */
  readonly listen?: ListenOptions | undefined;
  /** Refuse pushes that are not signed with (one of) these: the gateway's push secret. `TASK_GATEWAY_PUSH_SECRET` */
  readonly pushSecret?: string | readonly string[] | undefined;
  /** Seconds of silence after which the gateway fails this agent's tasks; 120 unless told otherwise, null for never. */
  readonly lostAfterSeconds?: number | null | undefined;
  /** A file that keeps outcomes the gateway could not be told yet, for the agent's next start. */
  readonly outbox?: string | undefined;
  /**
   * Whether a thread goes on beating while a handler blocks the event loop; so unless told otherwise. Not with a
   * `fetch` or a `clock` of your own, which no thread could use.
   */
  readonly heartbeatThread?: boolean | undefined;
  /** Told what happens, for logs. */
  readonly onNotice?: ((notice: AgentNotice) => void) | undefined;
};

/** The options that an agent's duties lean on, with nothing left open. */
export type AgentSettings = {
  readonly agentId: AgentId;
  readonly maxConcurrent: number;
  readonly pushSecrets: readonly string[];
  readonly lostAfterSeconds: number | null;
  /** What to register; absent: the address listened on. */
  readonly endpoint: string | undefined;
  readonly hasThread: boolean;
};

const LOST_AFTER_SECONDS = 120;
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Reads the settings. Throws `InvalidOptionError` for options that can't work. */
export function readAgentSettings(options: AgentOptions): AgentSettings {
  const { maxConcurrent = 1, lostAfterSeconds = LOST_AFTER_SECONDS } = options;
  judgeDelivery(options);
  if (!Number.isInteger(maxConcurrent) || maxConcurrent < 1) {
    throw new InvalidOptionError('maxConcurrent must be a whole number of 1 or more.');
  }
  const own = options.fetch !== undefined || options.clock !== undefined;
  return {
    maxConcurrent,
    lostAfterSeconds,
    agentId: options.agentId ?? readVariable('AGENT_ID') ?? `agent-${createId()}`,
    pushSecrets: [options.pushSecret ?? readVariable('PUSH_SECRET') ?? []].flat(),
    endpoint: options.endpoint ?? (options.listen ? undefined : 'pull'),
    hasThread: (options.heartbeatThread ?? true) && !own,
  };
}

function judgeDelivery({ listen, endpoint }: AgentOptions): void {
  if (endpoint === 'pull' && listen) {
    throw new InvalidOptionError('An agent that pulls needs no port: leave out listen, or endpoint.');
  }
  if (listen && endpoint === undefined && WILDCARD_HOSTS.has(listen.host ?? '')) {
    throw new InvalidOptionError(
      'Listening on all addresses: say with endpoint how the gateway reaches the agent.',
    );
  }
  if (listen?.path !== undefined && !listen.path.startsWith('/')) {
    throw new InvalidOptionError('listen.path must begin with a slash.');
  }
}
