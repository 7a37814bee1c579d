/** What the fake gateway answers to each call. It knows all of the contract's but the administrator's listings. */
import type { RequestId } from '../contract.ts';
import { isSettled, type World } from './world.ts';

/** One call as it came. */
export type Call = {
  readonly body: Record<string, unknown>;
  readonly url: URL;
  readonly request: Request;
};
/** A body is sent as JSON, a stream as it is. */
export type Answer = { readonly status: number; readonly body?: unknown; readonly type?: string };

export type RoutesDeps = {
  readonly world: World;
  readonly auth: string;
  readonly heartbeatSeconds: number;
  /** Opens the stream of a session, behind an event or from its beginning. */
  readonly openStream: (session: string, after: string | null) => ReadableStream<Uint8Array>;
  /** Resolves with what `look` finds, looked at now and whenever something has happened. */
  readonly until: <T>(look: () => T | undefined, signal: AbortSignal) => Promise<T>;
};

/** Creates the way to answer calls. */
export function createRoutes(deps: RoutesDeps): (call: Call) => Promise<Answer> {
  const keys = new Map<string, RequestId>();
  return async (call) => {
    const { pathname, searchParams } = call.url;
    const secret = call.request.headers.get('authorization')?.slice('Bearer '.length) ?? call.body.auth;
    if (secret !== deps.auth) return refuse(401, 'unauthorized', 'The secret is wrong.');
    if (pathname === '/api/cli/tasks') return submit(deps, keys, call);
    if (pathname === '/api/cli/events') {
      const session = searchParams.get('cli_session_id');
      if (!session) return refuse(422, 'validation_failed', 'cli_session_id is needed.');
      const after = call.request.headers.get('last-event-id') ?? searchParams.get('last_event_id');
      return { status: 200, body: deps.openStream(session, after), type: 'text/event-stream' };
    }
    const [, group, rest = ''] = /^\/api\/(cli\/tasks|agent)\/(.+)$/.exec(pathname) ?? [];
    if (group === 'agent') return answerAgent(deps, call, rest);
    if (group === 'cli/tasks') return answerTask(deps, call, rest);
    return refuse(404, 'route_not_found', 'The fake gateway knows no such path.');
  };
}

function submit({ world }: RoutesDeps, keys: Map<string, RequestId>, { body, request }: Call): Answer {
  const key = request.headers.get('idempotency-key');
  const known = key === null ? undefined : world.tasks.get(keys.get(key) ?? '');
  const fresh = { status: 'pending', agent_id: null, progress: 0, result: null, error_info: null };
  if (known) return { status: 200, body: { ...known.task, ...fresh } };
  if (typeof body.task_type !== 'string' || !Array.isArray(body.task_tags) || !body.payload) {
    return refuse(422, 'validation_failed', 'task_type, task_tags and payload are needed.');
  }
  const task = world.submit(body as Parameters<World['submit']>[0]);
  if (key !== null) keys.set(key, task.request_id);
  return { status: 200, body: task };
}

async function answerTask({ world, until }: RoutesDeps, call: Call, rest: string): Promise<Answer> {
  const [id = '', action] = rest.split('/');
  const request_id = decodeURIComponent(id);
  const held = world.tasks.get(request_id);
  if (!held) return refuse(404, 'task_not_found', 'There is no such task.');
  if (action === 'cancel') {
    if (world.fail(request_id, 'cancelled by user')) return { status: 200, body: { ok: true, request_id } };
    return refuse(400, 'task_terminal', 'The task has ended already.');
  }
  if (Number(call.url.searchParams.get('wait') ?? 0) > 0) {
    await until(() => (isSettled(held.task) ? true : undefined), call.request.signal);
  }
  return { status: 200, body: held.task };
}

async function answerAgent(deps: RoutesDeps, call: Call, operation: string): Promise<Answer> {
  const { world, until } = deps;
  const { body } = call;
  const agent_id = String(body.agent_id ?? '');
  if (agent_id === '') return refuse(400, 'agent_id_missing', 'agent_id is needed.');
  if (operation === 'result') return report(deps, body, agent_id);
  if (operation === 'register') world.register(body as Parameters<World['register']>[0]);
  if (!world.agents.has(agent_id)) return refuse(404, 'agent_not_found', 'There is no such agent: register.');
  const receipt = describeAgent(deps, body, agent_id);
  switch (operation) {
    case 'register':
      return {
        status: 200,
        body: { ...receipt, heartbeat_interval: deps.heartbeatSeconds, offline_after: 90 },
      };
    case 'heartbeat':
      return { status: 200, body: receipt };
    case 'unregister':
      world.agents.delete(agent_id);
      return { status: 200, body: { ok: true, agent_id } };
    case 'claim': {
      const look = () => world.handOut(agent_id);
      const task = Number(body.wait ?? 0) > 0 ? await until(look, call.request.signal) : look();
      return task ? { status: 200, body: task } : { status: 204 };
    }
    default:
      return refuse(404, 'route_not_found', 'There is no such path.');
  }
}

/** Takes note of what an agent says of itself, and answers how it stands. */
function describeAgent({ world }: RoutesDeps, body: Call['body'], agent_id: string) {
  const ids = Array.isArray(body.request_ids) ? body.request_ids.map(String) : undefined;
  const cancelled_request_ids = world.acknowledge(agent_id, ids);
  const member = world.agents.get(agent_id);
  if (member && typeof body.draining === 'boolean') member.draining = body.draining;
  const isRunning = [...world.tasks.values()].some(
    ({ task }) => task.status === 'running' && task.agent_id === agent_id,
  );
  const state = member?.draining ? 'draining' : isRunning ? 'processing' : 'ready';
  return { ok: true, agent_id, state, cancelled_request_ids };
}

function report({ world }: RoutesDeps, body: Call['body'], agent_id: string): Answer {
  const request_id = String(body.request_id);
  const held = world.tasks.get(request_id);
  if (!held) return refuse(404, 'task_not_found', 'There is no such task.');
  if (held.task.agent_id !== agent_id) {
    return refuse(400, 'agent_mismatch', 'The task is another agent’s.');
  }
  const accepted = world.report(body as Parameters<World['report']>[0]);
  return { status: 200, body: { ok: true, request_id, status: held.task.status, accepted } };
}

function refuse(status: number, code: string, detail: string): Answer {
  const title = code.replaceAll('_', ' ');
  const errors = status === 422 ? { errors: [{ pointer: '', detail }] } : {};
  const body = { type: `urn:task-gateway:problem:${code}`, title, status, detail, code, ...errors };
  return { status, body, type: 'application/problem+json' };
}
