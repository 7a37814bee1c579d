/** An agent with a gateway in memory and a fake clock, for the tests of the agent. */
import { onTestFinished } from 'vitest';
import {
  type Agent,
  type AgentNotice,
  type AgentOptions,
  createAgent,
  type HandlerAnswer,
  type HandlerContext,
} from '../../sdk/agent/index.ts';
import { someTask } from './scripted-fetch.ts';
import { createScriptedGateway, type ScriptedGateway } from './scripted-gateway.ts';
import { createSdkClock, elapse, pass, type SdkClock } from './sdk-clock.ts';

/** The agent of the test; stopped at its end. */
export let agent: Agent | undefined;
export let gateway: ScriptedGateway;
export let clock: SdkClock;
export let events: AgentNotice[];

/** Creates an agent, which pulls by default; not started. */
export function create(options: Partial<AgentOptions> = {}): Agent {
  gateway = createScriptedGateway();
  clock = createSdkClock();
  events = [];
  agent = createAgent({
    baseUrl: 'http://gateway.test',
    auth: 'a-good-secret',
    agentId: '译者 1',
    tags: ['zh'],
    fetch: gateway.fetch,
    clock,
    logLevel: 'off',
    onNotice: (event) => events.push(event),
    handler: () => ({ output: 'done' }),
    ...options,
  });
  onTestFinished(async () => {
    if (agent) await elapse(clock, agent.stop({ drainMs: 0 }), 1_000);
    agent = undefined;
  });
  return agent;
}

/** Creates an agent that pulls, and starts it. */
export async function startPulling(options: Partial<AgentOptions> = {}): Promise<Agent> {
  const created = create(options);
  await created.start();
  await clock.advance(0);
  return created;
}

/** Lets the agent claim tasks. */
export function offer(...ids: readonly string[]): Promise<void> {
  gateway.claimable.push(...ids.map((request_id) => assigned(request_id)));
  gateway.wake();
  return clock.advance(0);
}

/** A task assigned to the agent. */
export function assigned(request_id: string, fields: Record<string, unknown> = {}) {
  return someTask({ request_id, status: 'running', agent_id: '译者 1', ...fields });
}

/** Creates a handler whose outcomes the test decides. */
export function createManualHandler() {
  const tasks = new Map<
    string,
    {
      end(returned: HandlerAnswer): void;
      fail(error: unknown): void;
      signal: AbortSignal;
      progress(percent: number): void;
      reply(text: string): void;
    }
  >();
  const handler: AgentOptions['handler'] = ({ request_id }, context) =>
    new Promise((resolve, reject) => {
      tasks.set(request_id, { ...context, end: resolve, fail: reject });
    });
  const get = (request_id: string) => {
    const task = tasks.get(request_id);
    if (!task) throw new Error(`${request_id} was not started`);
    return task;
  };
  return { handler, get, started: () => [...tasks.keys()] };
}

/** Starts an agent with a task whose handler the test plays. */
export async function startTask(options: Partial<AgentOptions> = {}) {
  const context = Promise.withResolvers<HandlerContext>();
  const ended = Promise.withResolvers<string>();
  await startPulling({
    ...options,
    handler: async (_task, given) => {
      context.resolve(given);
      return await ended.promise;
    },
  });
  await offer('task-1');
  await pass(clock, 100);
  return {
    ...(await context.promise),
    async end() {
      ended.resolve('done');
      await pass(clock, 1_000);
    },
  };
}

/** Returns what the agent was doing when calls failed. */
export const failures = () => events.flatMap((event) => (event.kind === 'failure' ? [event.during] : []));
