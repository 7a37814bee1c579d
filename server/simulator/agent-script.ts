/** The agents of a world as a test describes them. `scripted-agents.ts` plays them. */

/** Takes a push and responds to it, as a server would: `(request) => agent.fetch(request)`. */
export type PushHandler = (request: Request) => Response | Promise<Response>;

/** The names of what an agent does with each of its tasks. */
export const BEHAVIOURS = [
  /** Takes it, and reports `result` after `after` seconds. */
  'succeed',
  /** Takes it, and reports `error_info` after `after` seconds. */
  'fail',
  /** Takes it, reports its `progress` within `after` seconds, and never ends it. */
  'progress',
  /** Leaves the push without a response. */
  'never_answer',
  /** Refuses the push with a 503. */
  'refuse',
  /** Takes it, and makes no further call. */
  'go_silent',
  /** As `succeed`, with two reports. */
  'report_twice',
  /** As `succeed`, `after` seconds behind the task's deadline. */
  'report_late',
  /** Takes it, reports the progress `at` after `after` seconds, and is gone: no process listens any more. */
  'die',
] as const;

export type Behaviour = (typeof BEHAVIOURS)[number];

/** A scripted agent. */
export type AgentScript = {
  /** The tags it registers with. */
  readonly tags: readonly string[];
  /** Default: `agent-1`, `agent-2` … */
  readonly agent_id?: string | undefined;
  /** Tasks at a time. Default 1. */
  readonly max_concurrent?: number | undefined;
  /** After this many seconds without contact its tasks are lost. Default: it registers without. */
  readonly lost_after?: number | undefined;
  /** The behaviour. Default: `succeed`. */
  readonly does?: Behaviour | undefined;
  /** Seconds until it does it. Default 0. */
  readonly after?: number | undefined;
  /** The result that it reports. Default: `{ output: 'done' }`. */
  readonly result?: Readonly<Record<string, unknown>> | undefined;
  /** Why its tasks fail. Default: `the script says so`. */
  readonly error_info?: string | undefined;
  /** The percentages that it reports on its way, spread over `after`. */
  readonly progress?: readonly number[] | undefined;
  /** How far a task is when its agent dies, in percent. Default 50. */
  readonly at?: number | undefined;
  /** The `Retry-After` of a refusal, in seconds. Default: none. */
  readonly retry_after?: number | undefined;
};

/** A scripted agent as it is now. */
export type ScriptedAgent = {
  readonly agent_id: string;
  readonly does: Behaviour;
  /** False once it has died or gone silent. */
  readonly alive: boolean;
  /** The tasks that it works on. */
  readonly request_ids: readonly string[];
};

export type Agents = {
  /**
   * Registers an agent; of the same `agent_id`, it is another process of it. Rejects when the gateway refuses
   * the registration.
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
