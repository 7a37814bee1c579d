/**
 * Agents that do as a test says. Each registers, sends heartbeats and reports over the API as any agent does;
 * with each task it does one of the things below. Its time is the world's.
 */
import type { Clock } from '../ports/clock.ts';
import {
  type AgentScript,
  type Agents,
  BEHAVIOURS,
  type PushHandler,
  type ScriptedAgent,
} from './agent-script.ts';
import { ConnectionRefused } from './pushes.ts';

/** Makes a call of the API with this body, which gets the secret; resolves with the status and the body. */
export type CallApi = (
  method: 'POST',
  path: string,
  body: Readonly<Record<string, unknown>>,
) => Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }>;

type Deps = {
  readonly clock: Clock;
  readonly call: CallApi;
  /** The world's time, in seconds. */
  readonly nowSeconds: () => number;
};

const HEARTBEAT_MS = 15_000;
/** Where scripted agents are: a name that no network has. */
const HOST = 'agents.simulator.test';

type Running = { readonly stop: AbortController; readonly progress: number };
/** One process of an agent. */
type Process = {
  readonly agent_id: string;
  readonly script: AgentScript;
  readonly tasks: Map<string, Running>;
  readonly end: AbortController;
  hasStopped: boolean;
};

export type AgentStage = Agents & {
  /** The scripted agent of an endpoint, if there is one. */
  findScripted(endpoint: string): PushHandler | undefined;
  /** The handler that the test gave for an endpoint. */
  findHandler(endpoint: string): PushHandler | undefined;
  stop(): void;
};

/** Creates them without any. */
export function createAgents(deps: Deps): AgentStage {
  const { call } = deps;
  const processes = new Map<string, Process>();
  const scripted = new Map<string, PushHandler>();
  const handlers = new Map<string, PushHandler>();
  let count = 0;

  return {
    async add(script) {
      requireBehaviour(script);
      count += 1;
      const { agent_id = `agent-${count}`, tags, max_concurrent = 1, lost_after } = script;
      processes.get(agent_id)?.end.abort('replaced');
      const endpoint = `http://${HOST}/${encodeURIComponent(agent_id)}`;
      const one: Process = {
        agent_id,
        script,
        tasks: new Map(),
        end: new AbortController(),
        hasStopped: false,
      };
      scripted.set(endpoint, createHandler(deps, one));
      const { status, body } = await call('POST', '/api/agent/register', {
        agent_id,
        endpoint,
        agent_tags: tags,
        max_concurrent,
        request_ids: [],
        ...(lost_after !== undefined && { lost_after }),
      });
      if (status !== 200) {
        throw new TypeError(`The agent was not registered: ${status} ${JSON.stringify(body)}`);
      }
      processes.set(agent_id, one);
      void beat(deps, one);
      return describe(one);
    },
    list: () => [...processes.values()].map(describe),
    async remove(agent_id) {
      const one = processes.get(agent_id);
      if (!one) return false;
      processes.delete(agent_id);
      one.end.abort('removed');
      await callOrNothing(deps, '/api/agent/unregister', { agent_id });
      return true;
    },
    handle: (endpoint, handler) => void handlers.set(endpoint, handler),
    findScripted: (endpoint) => scripted.get(endpoint),
    findHandler: (endpoint) => handlers.get(endpoint),
    stop() {
      for (const { end } of processes.values()) end.abort('stopped');
    },
  };
}

async function beat(deps: Deps, one: Process): Promise<void> {
  for (;;) {
    await deps.clock.sleep(HEARTBEAT_MS, one.end.signal);
    if (one.end.signal.aborted) return;
    const body = {
      agent_id: one.agent_id,
      current_load: one.tasks.size,
      request_ids: [...one.tasks.keys()],
    };
    const { body: reply } = await callOrNothing(deps, '/api/agent/heartbeat', body);
    const { cancelled_request_ids: cancelled } = reply;
    for (const id of Array.isArray(cancelled) ? cancelled : []) one.tasks.get(id)?.stop.abort();
  }
}

/** A call that a fault takes away is one that failed. */
function callOrNothing(
  { call }: Deps,
  path: string,
  body: Readonly<Record<string, unknown>>,
): ReturnType<CallApi> {
  return call('POST', path, body).catch(() => ({ status: 0, body: {} }));
}

function describe({ agent_id, script, tasks, hasStopped }: Process): ScriptedAgent {
  return { agent_id, does: script.does ?? 'succeed', alive: !hasStopped, request_ids: [...tasks.keys()] };
}

async function work(deps: Deps, one: Process, task: PushedTask): Promise<void> {
  const { clock, nowSeconds } = deps;
  const { script, tasks, end, agent_id } = one;
  const { does = 'succeed', after = 0, progress = [], result = { output: 'done' }, at = 50 } = script;
  const { request_id, create_time, timeout } = task;
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, end.signal]);
  const report = (fields: Readonly<Record<string, unknown>>) =>
    callOrNothing(deps, '/api/agent/result', Object.assign({ agent_id, request_id }, fields));
  tasks.set(request_id, { stop, progress: 0 });
  if (does === 'go_silent') return stopCalling(one);
  const steps = does === 'die' ? [at] : progress;
  const parts = steps.length + (does === 'die' || does === 'progress' ? 0 : 1);
  const lateSeconds = does === 'report_late' ? Math.max(0, create_time + timeout - nowSeconds()) : 0;
  for (const percent of steps) {
    await clock.sleep((after / parts) * 1_000, signal);
    if (signal.aborted) break;
    await report({ status: 'running', progress: percent });
  }
  if (does === 'die') return stopCalling(one);
  if (does === 'progress') return;
  await clock.sleep((after / parts + lateSeconds) * 1_000, does === 'report_late' ? end.signal : signal);
  tasks.delete(request_id);
  if (signal.aborted && (does !== 'report_late' || end.signal.aborted)) return;
  const { error_info = 'the script says so' } = script;
  const ended = does === 'fail' ? { status: 'failed', error_info } : { status: 'success', result };
  await report(ended);
  if (does === 'report_twice') await report(ended);
}

function stopCalling(one: Process): void {
  one.hasStopped = true;
  one.end.abort('silent');
}

function createHandler(deps: Deps, one: Process): PushHandler {
  return async (request) => {
    const { does, retry_after } = one.script;
    if (one.hasStopped && does === 'die') throw new ConnectionRefused();
    if (does === 'never_answer') return await new Promise<Response>(() => undefined);
    if (does === 'refuse') {
      const headers = retry_after === undefined ? {} : { 'retry-after': String(retry_after) };
      return new Response(null, { status: 503, headers });
    }
    const task = (await request.json()) as PushedTask;
    if (one.tasks.has(task.request_id)) return new Response(null, { status: 409 });
    void work(deps, one, task);
    return new Response(null, { status: 202 });
  };
}

/** Throws for an unknown behaviour, with those that there are. */
function requireBehaviour({ does }: AgentScript): void {
  if (does === undefined || BEHAVIOURS.includes(does)) return;
  throw new TypeError(`There is no behaviour \`${does}\`. There are ${BEHAVIOURS.join(', ')}.`);
}

/** The part of a pushed task that an agent reads. */
type PushedTask = { readonly request_id: string; readonly create_time: number; readonly timeout: number };
