/**
 * What every scenario with an agent works with: the trial's gateway, the agent's process, and the ways to
 * wait for what the agent does. Scenarios are played one after the other on one agent.
 */
import { randomBytes } from 'node:crypto';
import { type AgentGateway, createAgentGateway, isTaken } from './agent-gateway.ts';
import { type Fields, Finding, requireThat } from './findings.ts';
import type { Requirement } from './requirements.ts';
import { type StartedCommand, type Starter, tellPrinted } from './started-command.ts';
import type { Received } from './trial-gateway.ts';
import { pause } from './trial-streams.ts';

export type AgentRunOptions = {
  readonly starter: Starter;
  /** The secrets that the agent gets; by default random ones. */
  readonly auth?: string;
  readonly pushSecret?: string;
  /** The payload of every task. The agent must work on it for a second and a half or longer. */
  readonly payload?: Fields;
  /** Where the kit listens; by default at a free port of this machine. */
  readonly listen?: { readonly host: string; readonly port: number };
  /** How long the agent may take for anything that it must do. */
  readonly limitMs?: number;
  /** How long nothing more must come before the kit believes that nothing will. */
  readonly quietMs?: number;
  readonly heartbeatSeconds?: number;
  /** Checks only requirements of this level; by default of all. */
  readonly level?: Requirement['level'];
  /** Checks only requirements whose ids begin so. */
  readonly only?: string;
  /** Whether everything is played once more if something fails. Default: true. */
  readonly again?: boolean;
  /** Ends the run. What was not checked by then is an error of the kit. */
  readonly signal?: AbortSignal;
};

export type Stage = {
  readonly gateway: AgentGateway;
  readonly prefix: string;
  readonly isCommand: boolean;
  readonly limitMs: number;
  readonly quietMs: number;
  readonly heartbeatMs: number;
  /** How many calls had come when each process of the agent was started. */
  readonly starts: readonly number[];
  /** The tasks that were handed to the agent, each with the time. */
  readonly handed: ReadonlyMap<string, number>;
  /** How long the agent worked on the first task. */
  workMs: number;
  /** Starts the agent if it does not run, and waits until it is registered. */
  begin(): Promise<Received>;
  isOver(): boolean;
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
  /** Waits as long as an agent may take. Undefined if nothing was found by then, or the agent ended. */
  find<T>(find: () => T | undefined, limitMs?: number): Promise<T | undefined>;
  /** Waits as `find` does. If nothing is found, throws a finding that names it. */
  until<T>(what: string, find: () => T | undefined): Promise<T>;
  pause(ms: number): Promise<void>;
  /** Submits a task for the agent. Resolves to its id once the agent works on it or has done it. */
  hand(): Promise<string>;
  /** Returns the reports that end the task. */
  finals(request_id: string): readonly Received[];
  /** Ends what a scenario leaves behind: open tasks, and its changes on the wire. */
  clear(): Promise<void>;
  /** Kills the agent, if the kit started it. The next `begin` starts another process. */
  end(): Promise<void>;
  close(): Promise<void>;
};

const POLL_MS = 15;
/** How soon most agents respond to a push. Some hold it until the work is done. */
const PUSH_ANSWER_MS = 400;
/** How long a killed process may take to end. */
const END_MS = 3_000;
const DEFAULT_PAYLOAD = {
  text: 'A task of the conformance kit that takes one second and a half of work. 你好',
  seconds: 1.5,
};

/** Creates the stage of one run. Its gateway does not listen yet. */
export function createStage(options: AgentRunOptions): Stage {
  const { starter, payload = DEFAULT_PAYLOAD, signal, listen = {} } = options;
  const { limitMs = 20_000, quietMs = 1_000, heartbeatSeconds = 1 } = options;
  const { auth = randomBytes(24).toString('hex') } = options;
  const { pushSecret = `whsec_${randomBytes(32).toString('base64')}` } = options;
  const prefix = `kit-${randomBytes(4).toString('hex')}`;
  const gateway = createAgentGateway({ auth, pushSecret, payload, heartbeatSeconds, prefix, ...listen });
  const handed = new Map<string, number>();
  const starts: number[] = [];
  const submitted = new Set<string>();
  let agent: StartedCommand | undefined;

  const stage: Stage = {
    gateway,
    prefix,
    isCommand: starter.isCommand,
    limitMs,
    quietMs,
    heartbeatMs: heartbeatSeconds * 1_000,
    handed,
    starts,
    workMs: 0,
    async begin() {
      const from = gateway.received.length;
      const runs = agent !== undefined && !agent.isOver();
      if (!runs) {
        starts.push(from);
        agent = starter.start({
          TASK_GATEWAY_URL: gateway.url,
          TASK_GATEWAY_AUTH: auth,
          TASK_GATEWAY_PUSH_SECRET: pushSecret,
          TASK_GATEWAY_AGENT_ID: `${prefix}-agent`,
        });
      }
      return stage.until('the agent registers', () => {
        const done = gateway.calls('register', runs ? 0 : from).filter(({ status }) => status === 200);
        return gateway.agent() && done.at(-1);
      });
    },
    isOver: () => agent?.isOver() ?? false,
    signal: (name) => agent?.signal(name),
    async find(find, ms = limitMs) {
      const endMs = performance.now() + ms;
      for (;;) {
        const found = find();
        if (found !== undefined || performance.now() > endMs || stage.isOver()) return found;
        await stage.pause(POLL_MS);
      }
    },
    async until(what, find) {
      const found = await stage.find(find);
      if (found !== undefined) return found;
      const printed = tellPrinted(agent?.printed() ?? '');
      if (stage.isOver()) {
        const exit = agent?.exitCode() ?? null;
        throw new Finding(
          `The agent ended${exit === null ? '' : ` with ${exit}`} before: ${what}.${printed}`,
        );
      }
      throw new Finding(`Not within ${limitMs / 1_000} s: ${what}.${printed}`, { cause: 'wait' });
    },
    async pause(ms) {
      signal?.throwIfAborted();
      await pause(ms);
      signal?.throwIfAborted();
    },
    async hand() {
      const request_id = await gateway.submit();
      submitted.add(request_id);
      await stage.until('the agent takes a task', () => {
        const delivery = gateway.deliveries.get(request_id);
        if (!delivery) return undefined;
        const status = delivery.statuses.at(-1);
        const isRefused = status !== undefined && status !== 0 && !isBusy(status) && !isTaken(status);
        requireThat(!isRefused, `The agent responded ${status} to a push, and must take the task.`);
        const isHeld = status === undefined && performance.now() > delivery.atMs + PUSH_ANSWER_MS;
        return delivery.takenMs !== undefined || isHeld || undefined;
      });
      handed.set(request_id, performance.now());
      return request_id;
    },
    finals: (request_id) =>
      gateway
        .calls('result')
        .filter(
          ({ body }) =>
            body.request_id === request_id && (body.status === 'success' || body.status === 'failed'),
        ),
    async clear() {
      gateway.divert();
      gateway.changePushes();
      for (const request_id of submitted) await gateway.cancel(request_id);
      submitted.clear();
    },
    async end() {
      if (!starter.isCommand) return;
      stage.signal('SIGKILL');
      await stage.find(() => undefined, END_MS);
      await gateway.forget();
    },
    async close() {
      agent?.signal('SIGKILL');
      await gateway.close();
    },
  };
  return stage;
}

/** Whether a push's status says that the agent is busy. */
export function isBusy(status: number): boolean {
  return status === 429 || status === 503;
}
