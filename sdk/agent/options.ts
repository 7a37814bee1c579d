/** An agent's options, their defaults from the environment, and the checks of both. */
import type { AgentId, FreeForm, JsonObject, JsonResult, TaskResult } from '../contract.ts';
import { InvalidOptionError } from '../errors.ts';
import { createId } from '../ids.ts';
import type { Logger, LogLevel } from '../log.ts';
import { CLIENT_OPTION_NAMES, warnOfUnknownNames } from '../option-names.ts';
import { type ClientOptions, readVariable } from '../settings.ts';
import type { Handler } from './handler.ts';
import type { AgentNotice } from './log-events.ts';
import type { ListenOptions } from './server.ts';
import { isSigningSecret } from './signature.ts';

/** What an agent is, and how it gets its tasks. How it reaches the gateway is configured as for a client. */
export type AgentOptions<
  Payload extends JsonObject = FreeForm,
  Result extends JsonResult = TaskResult,
> = Omit<ClientOptions, 'adminAuth' | 'logLevel' | 'logger'> & {
  /**
   * How much the agent says. `error`: tasks that fail, with the stack. `warn`: also calls that fail, and that
   * the gateway can't be reached. `info`: also tasks that are dropped, and where the agent is registered,
   * with which tags and slots. `debug`: also every task and call. `off`: nothing. Default: `info`.
   * `TASK_GATEWAY_LOG`
   */
  readonly logLevel?: LogLevel | undefined;
  /** Receives what the agent says. Default: lines on standard error, in colours on a terminal. */
  readonly logger?: Logger | undefined;
  /**
   * The agent's id. It must be unique: to the gateway two processes with the same id are one agent. Default:
   * a random id, so that each start is another agent. `TASK_GATEWAY_AGENT_ID`
   */
  readonly agentId?: AgentId | undefined;
  /** The agent gets tasks that have at least one of these tags. */
  readonly tags: readonly string[];
  /** The number of the agent's slots: how many tasks it works on at once. Default: 1. */
  readonly maxConcurrent?: number | undefined;
  /** Does the work on a task. */
  readonly handler: Handler<Payload, Result>;
  /**
   * Ends the agent when it fires: whichever of `start`, `stop` and `runAgent` waits rejects at once with an
   * `AbortError`, the handlers' signals fire, and the agent stops as by `stop({ drainMs: 0 })`. The error's
   * `stopped` resolves when it has stopped, and so does a later `stop`. To let tasks finish, call `stop`
   * instead.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * How many milliseconds a handler has to end, once its signal has fired because its task was cancelled or
   * timed out. After them its slot is free, and whatever it still does runs beside the agent's other tasks.
   * Without a limit the slot stays occupied until the handler ends; after 10 seconds `onNotice` gets a
   * `failure`.
   */
  readonly handlerEndMs?: number | undefined;
  /**
   * Called before a task is taken. While it returns true, the agent claims no task and answers a push that it
   * is busy (503), so that the gateway offers the task to another agent. Default: never busy.
   */
  readonly isBusy?: (() => boolean) | undefined;
  /**
   * How the agent gets tasks. `pull`: it claims them and needs no port. A URL: the gateway pushes them there,
   * to the server that the agent opens (`listen`) or to one of yours that passes them to `agent.fetch` or
   * `agent.listener`. Default: the address of `listen`, otherwise `pull`.
   */
  readonly endpoint?: 'pull' | (string & {}) | undefined;
  /** Opens a server for pushes at this address. */
  readonly listen?: ListenOptions | undefined;
  /**
   * The gateway's push secret, or several; one of them must have signed a push. It has the gateway's own
   * form: `whsec_` and base64, or any other text that is not empty. `TASK_GATEWAY_PUSH_SECRET`
   */
  readonly pushSecret?: string | readonly string[] | undefined;
  /**
   * After so many seconds without contact, 3 or more, the gateway fails this agent's tasks; null: never.
   * Default: 120.
   */
  readonly lostAfterSeconds?: number | null | undefined;
  /** The largest push that the agent takes, in bytes. Default: 3 MiB, more than any push of a gateway. */
  readonly maxPushBytes?: number | undefined;
  /**
   * A file that keeps outcomes which could not be delivered, for the agent's next start. Beside it the agent
   * creates the folder `FILE.lock`, by which a second process finds that the file is in use.
   */
  readonly outbox?: string | undefined;
  /**
   * Whether a thread sends heartbeats while a handler blocks the event loop. Default: true. An agent with a
   * `fetch` or a `clock` of your own has no such thread, because it could not use them.
   */
  readonly heartbeatThread?: boolean | undefined;
  /** Called with each notice of the agent. */
  readonly onNotice?: ((notice: AgentNotice) => void) | undefined;
};

/** The options of the agent itself, with all defaults filled in. */
export type AgentSettings = {
  readonly agent_id: AgentId;
  readonly maxConcurrent: number;
  readonly pushSecrets: readonly string[];
  readonly lostAfterSeconds: number | null;
  /** The endpoint to register; undefined for the address on which the agent listens. */
  readonly endpoint: string | undefined;
  readonly hasHeartbeatThread: boolean;
  readonly maxPushBytes: number;
  /** `Infinity` is no limit. */
  readonly handlerEndMs: number;
};

/** The options that an agent has beside a client's. */
export const AGENT_OPTION_NAMES = [
  ...(['agentId', 'tags', 'maxConcurrent', 'handler', 'handlerEndMs', 'isBusy', 'signal'] as const),
  ...(['endpoint', 'listen', 'pushSecret', 'maxPushBytes', 'lostAfterSeconds'] as const),
  ...(['outbox', 'heartbeatThread', 'onNotice'] as const),
] as const;

const LOST_AFTER_SECONDS = 120;
/** The gateway's own bound. */
const LOST_AFTER_SECONDS_MIN = 3;
/** More than the largest task: a payload and a result of 1 MiB each as they are written, and the rest. */
const PUSH_BYTES_MAX = 3_145_728;
/** The gateway's rule for secrets. */
const PRINTABLE = /^[\x21-\x7e]{1,512}$/;
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Returns the settings. Throws `InvalidOptionError` for options that can't work. */
export function readAgentSettings(options: AgentOptions): AgentSettings {
  warnOfUnknownNames('The options of agents', options, [...CLIENT_OPTION_NAMES, ...AGENT_OPTION_NAMES]);
  const { maxConcurrent = 1, lostAfterSeconds = LOST_AFTER_SECONDS } = options;
  requireWork(options);
  requireEndpoint(options);
  if (!Number.isInteger(maxConcurrent) || maxConcurrent < 1) {
    throw new InvalidOptionError('maxConcurrent must be a whole number of 1 or more.');
  }
  if (lostAfterSeconds !== null && !(lostAfterSeconds >= LOST_AFTER_SECONDS_MIN)) {
    throw new InvalidOptionError('lostAfterSeconds must be a number of 3 or more, or null.');
  }
  const isSubstituted = options.fetch !== undefined || options.clock !== undefined;
  return {
    maxConcurrent,
    lostAfterSeconds,
    agent_id: options.agentId ?? readVariable('AGENT_ID') ?? `agent-${createId()}`,
    pushSecrets: readPushSecrets(options),
    endpoint: options.endpoint ?? (options.listen ? undefined : 'pull'),
    hasHeartbeatThread: (options.heartbeatThread ?? true) && !isSubstituted,
    maxPushBytes: requireAmount('maxPushBytes', options.maxPushBytes ?? PUSH_BYTES_MAX),
    handlerEndMs: requireAmount('handlerEndMs', options.handlerEndMs ?? Number.POSITIVE_INFINITY),
  };
}

function requireAmount(name: string, value: number): number {
  if (value >= 0) return value;
  throw new InvalidOptionError(`${name} must be a number of 0 or more.`);
}

/** Throws for an agent that could do nothing, because plain JavaScript has no compiler to say so. */
function requireWork({ handler, tags }: Partial<AgentOptions>): void {
  if (typeof handler !== 'function') {
    throw new InvalidOptionError('handler is missing: give the function that does the work on a task.');
  }
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === 'string')) {
    throw new InvalidOptionError(
      'tags must be a list of texts: the agent gets the tasks that have one of them.',
    );
  }
}

/**
 * Returns the push secrets. Throws for one that can't sign, because anyone could forge pushes with it. The
 * error does not quote it.
 */
function readPushSecrets({ pushSecret }: AgentOptions): readonly string[] {
  // An empty variable counts, and is refused as by the gateway: without a secret nothing would be verified.
  const given = pushSecret ?? process.env.TASK_GATEWAY_PUSH_SECRET;
  const secrets = given === undefined ? [] : [given].flat();
  if (given !== undefined && secrets.length === 0) {
    throw new InvalidOptionError(
      'pushSecret is an empty list: give the gateway’s PUSH_SECRET, or leave it out.',
    );
  }
  const name = pushSecret === undefined ? 'pushSecret (from TASK_GATEWAY_PUSH_SECRET)' : 'pushSecret';
  for (const secret of secrets) {
    if (PRINTABLE.test(secret) && isSigningSecret(secret)) continue;
    throw new InvalidOptionError(
      `${name} can’t sign: it is empty, not printable ASCII without spaces, or not base64 behind whsec_. ` +
        'Give the gateway’s PUSH_SECRET as it is, or leave it out.',
    );
  }
  return secrets;
}

/** Throws if `listen` and `endpoint` do not fit together. */
function requireEndpoint({ listen, endpoint }: AgentOptions): void {
  if (endpoint === 'pull' && listen) {
    throw new InvalidOptionError(
      'An agent that pulls needs no port: leave out listen, or leave out endpoint.',
    );
  }
  if (listen && endpoint === undefined && WILDCARD_HOSTS.has(listen.host ?? '')) {
    throw new InvalidOptionError(
      'An agent that listens on all addresses needs endpoint: the URL at which the gateway reaches it.',
    );
  }
  if (listen?.path !== undefined && !listen.path.startsWith('/')) {
    throw new InvalidOptionError('listen.path must begin with a slash.');
  }
}
