/**
 * Agents that act as a test says. Each registers, sends heartbeats and reports over the API as any agent
 * does. With each task it does what its script says. Its time is the world's.
 */
import type { Clock } from '../ports/clock.ts';
import type { AgentScript, Agents, PushHandler, ScriptedAgent } from './agent-script.ts';
import { requireValid } from './given-values.ts';
import { ConnectionRefused } from './pushes.ts';
import { type CallApi, callOnce } from './script-calls.ts';
import { writeOutput } from './scripted-output.ts';

type Deps = {
  readonly clock: Clock;
  readonly call: CallApi;
  /** The world's time, in seconds. */
  readonly nowSeconds: () => number;
};

/** The host of scripted agents, which exists in no network. */
const HOST = 'agents.simulator.test';

/** One process of an agent. */
type Process = {
  readonly agent_id: string;
  readonly script: AgentScript;
  /** The writer of its outputs. Each process of an agent is a different writer. */
  readonly writer: string;
  /** The tasks of the process, each with the controller that stops the work on it. */
  readonly tasks: Map<string, AbortController>;
  /** Fires when the script ends. */
  readonly end: AbortController;
  /** Fires when the process dies or goes silent. */
  readonly silence: AbortController;
  /** Fires with `end` or `silence`: the process makes no further call. */
  readonly stopped: AbortSignal;
};

export type AgentStage = Agents & {
  /** Finds the scripted agent of an endpoint. */
  findScripted(endpoint: string): PushHandler | undefined;
  /** Finds the handler that the test gave for an endpoint. */
  findHandler(endpoint: string): PushHandler | undefined;
  stop(): void;
};

export function createAgents(deps: Deps): AgentStage {
  const { call } = deps;
  const processes = new Map<string, Process>();
  const scripted = new Map<string, PushHandler>();
  const handlers = new Map<string, PushHandler>();
  let count = 0;

  return {
    async add(script) {
      requireValid('AgentScript', script);
      count += 1;
      const { agent_id = `agent-${count}`, tags, max_concurrent = 1, lost_after } = script;
      processes.get(agent_id)?.end.abort('replaced');
      const endpoint = `http://${HOST}/${encodeURIComponent(agent_id)}`;
      const [end, silence] = [new AbortController(), new AbortController()];
      const one: Process = {
        agent_id,
        script,
        writer: `process-${count}`,
        tasks: new Map(),
        end,
        silence,
        stopped: AbortSignal.any([end.signal, silence.signal]),
      };
      scripted.set(endpoint, createHandler(deps, one));
      const { status, body } = await call('/api/agent/register', {
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
      void beat(deps, one, Number(body.heartbeat_interval) * 1_000);
      return describe(one);
    },
    list: () => [...processes.values()].map(describe),
    async remove(agent_id) {
      const one = processes.get(agent_id);
      if (!one) return false;
      processes.delete(agent_id);
      one.end.abort('removed');
      await callOnce(call, '/api/agent/unregister', { agent_id });
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

async function beat(deps: Deps, one: Process, everyMs: number): Promise<void> {
  for (;;) {
    await deps.clock.sleep(everyMs, one.stopped);
    if (one.stopped.aborted) return;
    const body = {
      agent_id: one.agent_id,
      current_load: one.tasks.size,
      request_ids: [...one.tasks.keys()],
    };
    const { body: reply } = await callOnce(deps.call, '/api/agent/heartbeat', body);
    const { cancelled_request_ids: cancelled } = reply;
    for (const id of Array.isArray(cancelled) ? cancelled : []) one.tasks.get(id)?.abort();
  }
}

function describe({ agent_id, script, tasks, silence }: Process): ScriptedAgent {
  const alive = !silence.signal.aborted;
  return { agent_id, does: script.does ?? 'succeed', alive, request_ids: [...tasks.keys()] };
}

async function work(deps: Deps, one: Process, task: PushedTask): Promise<void> {
  const { clock, nowSeconds } = deps;
  const { script, tasks, stopped, agent_id, writer } = one;
  const { does = 'succeed', after = 0, progress = [], result = { output: 'done' }, at = 50 } = script;
  const { request_id, create_time, timeout } = task;
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, stopped]);
  const report = (fields: Readonly<Record<string, unknown>>) =>
    callOnce(deps.call, '/api/agent/result', Object.assign({ agent_id, request_id }, fields));
  tasks.set(request_id, stop);
  if (does === 'go_silent') return one.silence.abort();
  const end = one.end.signal;
  const writing = writeOutput(deps, { agent_id, script, request_id, writer, signal, end });
  const steps = does === 'die' ? [at] : progress;
  const parts = steps.length + (does === 'die' || does === 'progress' ? 0 : 1);
  const lateSeconds = does === 'report_late' ? Math.max(0, create_time + timeout - nowSeconds()) : 0;
  for (const percent of steps) {
    await clock.sleep((after / parts) * 1_000, signal);
    if (signal.aborted) break;
    await report({ status: 'running', progress: percent });
  }
  if (does === 'die') return one.silence.abort();
  if (does === 'progress') return;
  await clock.sleep((after / parts + lateSeconds) * 1_000, does === 'report_late' ? stopped : signal);
  const written = await writing;
  tasks.delete(request_id);
  const isOver = signal.aborted || written === 'over';
  if (isOver && (does !== 'report_late' || stopped.aborted)) return;
  const { error_info = 'the script says so' } = script;
  const ended =
    typeof written === 'object'
      ? { status: 'failed', error_info: written.refused }
      : does === 'fail'
        ? { status: 'failed', error_info }
        : { status: 'success', result };
  await report(ended);
  if (does === 'report_twice') await report(ended);
}

function createHandler(deps: Deps, one: Process): PushHandler {
  return async (request) => {
    const { does, retry_after } = one.script;
    if (one.silence.signal.aborted && does === 'die') throw new ConnectionRefused();
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

/** The fields of a pushed task that a scripted agent reads. */
type PushedTask = { readonly request_id: string; readonly create_time: number; readonly timeout: number };
