/** The fake gateway's operations: all of the contract's but the administrator's lists. */
import { readTraceHeaders } from '../agent/trace-headers.ts';
import type { RequestId } from '../contract.ts';
import { CANCELLED_TEXT, isSettled } from '../settled.ts';
import { explainFakeTask, previewFakeMatch } from './explanations.ts';
import type { FakeState } from './fake-state.ts';

/** A request as it was received. */
export type FakeRequest = {
  readonly body: Record<string, unknown>;
  readonly url: URL;
  readonly request: Request;
  /** Fires when the caller no longer waits. */
  readonly signal: AbortSignal;
};
/** A response. A stream is sent as it is, any other body as JSON. */
export type FakeResponse = {
  readonly status: number;
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export type RoutesDeps = {
  readonly state: FakeState;
  readonly auth: string;
  readonly heartbeatSeconds: number;
  /** Opens the stream of a session, behind an event or from its beginning. */
  readonly openStream: (session: string, after: string | null) => ReadableStream<Uint8Array>;
  /**
   * Resolves with what `find` returns, which is called at once and after every change until it finds
   * something.
   */
  readonly waitFor: <T>(find: () => T | undefined, signal: AbortSignal) => Promise<T>;
};

/** Creates the function that handles requests. */
export function createRoutes(deps: RoutesDeps): (call: FakeRequest) => Promise<FakeResponse> {
  const keys = new Map<string, RequestId>();
  return async (call) => {
    const { pathname, searchParams } = call.url;
    const secret = call.request.headers.get('authorization')?.slice('Bearer '.length) ?? call.body.auth;
    if (secret !== deps.auth) {
      const headers = { 'www-authenticate': 'Bearer' };
      return { ...createProblem(401, 'unauthorized', 'The secret is wrong.'), headers };
    }
    if (pathname === '/api/cli/tasks') return submitTask(deps, keys, call);
    if (pathname === '/api/cli/match') return previewMatch(deps, call);
    if (pathname === '/api/cli/events') {
      const session = searchParams.get('cli_session_id');
      if (!session) return createProblem(422, 'validation_failed', 'cli_session_id is needed.');
      const after = call.request.headers.get('last-event-id') ?? searchParams.get('last_event_id');
      return { status: 200, body: deps.openStream(session, after), type: 'text/event-stream' };
    }
    const [, group, rest = ''] = /^\/api\/(cli\/tasks|agent)\/(.+)$/.exec(pathname) ?? [];
    if (group === 'agent') return handleAgentCall(deps, call, rest);
    if (group === 'cli/tasks') return handleTaskCall(deps, call, rest);
    return createProblem(404, 'route_not_found', 'The fake gateway does not have this path.');
  };
}

function submitTask(
  { state }: RoutesDeps,
  keys: Map<string, RequestId>,
  { body, request }: FakeRequest,
): FakeResponse {
  const key = request.headers.get('idempotency-key');
  const earlier = key === null ? undefined : state.tasks.get(keys.get(key) ?? '');
  const pending = { status: 'pending', agent_id: null, progress: 0, result: null, error_info: null };
  if (earlier) return { status: 200, body: { ...earlier.task, ...pending } };
  if (typeof body.task_type !== 'string' || !Array.isArray(body.task_tags) || !body.payload) {
    return createProblem(422, 'validation_failed', 'task_type, task_tags and payload are needed.');
  }
  const { headers } = request;
  const trace = readTraceHeaders(headers.get('traceparent'), headers.get('tracestate'));
  const task = state.submit(body as Parameters<FakeState['submit']>[0], trace);
  if (key !== null) keys.set(key, task.request_id);
  return { status: 200, body: task };
}

function previewMatch({ state }: RoutesDeps, { body: { task_tags } }: FakeRequest): FakeResponse {
  if (Array.isArray(task_tags)) return { status: 200, body: previewFakeMatch(state, task_tags.map(String)) };
  return createProblem(422, 'validation_failed', 'task_tags are needed.');
}

async function handleTaskCall(
  { state, waitFor }: RoutesDeps,
  call: FakeRequest,
  rest: string,
): Promise<FakeResponse> {
  const [id = '', action] = rest.split('/');
  const request_id = decodeURIComponent(id);
  const entry = state.tasks.get(request_id);
  if (!entry) return createProblem(404, 'task_not_found', 'There is no such task.');
  if (action === 'explain') return { status: 200, body: explainFakeTask(state, entry.task) };
  if (action === 'cancel') {
    if (state.fail(request_id, CANCELLED_TEXT)) return { status: 200, body: { ok: true, request_id } };
    return createProblem(400, 'task_terminal', 'The task is in a terminal state.');
  }
  if (Number(call.url.searchParams.get('wait') ?? 0) > 0) {
    await waitFor(() => (isSettled(entry.task) ? true : undefined), call.signal);
  }
  return { status: 200, body: entry.task };
}

async function handleAgentCall(
  deps: RoutesDeps,
  call: FakeRequest,
  operation: string,
): Promise<FakeResponse> {
  const { state, waitFor } = deps;
  const { body } = call;
  const agent_id = String(body.agent_id ?? '');
  if (agent_id === '') return createProblem(400, 'agent_id_missing', 'agent_id is needed.');
  if (operation === 'result') return applyReport(deps, body, agent_id);
  if (operation === 'register') state.register(body as Parameters<FakeState['register']>[0]);
  if (!state.agents.has(agent_id)) {
    return createProblem(404, 'agent_not_found', 'There is no such agent: register.');
  }
  const receipt = recordContact(deps, body, agent_id);
  switch (operation) {
    case 'register':
      return {
        status: 200,
        body: {
          ...receipt,
          registration: state.agents.get(agent_id)?.token,
          heartbeat_interval: deps.heartbeatSeconds,
          offline_after: 90,
        },
      };
    case 'heartbeat':
      return { status: 200, body: receipt };
    case 'unregister':
      if (isPresent(state, body, agent_id)) state.agents.delete(agent_id);
      return { status: 200, body: { ok: true, agent_id } };
    case 'claim': {
      const find = () => state.takeUnsent(agent_id);
      const task = Number(body.wait ?? 0) > 0 ? await waitFor(find, call.signal) : find();
      if (!task) return { status: 204 };
      return { status: 200, body: task, headers: state.tasks.get(task.request_id)?.trace ?? {} };
    }
    default:
      return createProblem(404, 'route_not_found', 'There is no such path.');
  }
}

/** Records what an agent says about itself. Returns its state and the tasks it should stop working on. */
function recordContact({ state }: RoutesDeps, body: FakeRequest['body'], agent_id: string) {
  const ids = Array.isArray(body.request_ids) ? body.request_ids.map(String) : undefined;
  const cancelled_request_ids = state.acknowledge(agent_id, ids);
  const agent = state.agents.get(agent_id);
  if (agent && typeof body.draining === 'boolean' && isPresent(state, body, agent_id)) {
    agent.draining = body.draining;
  }
  const isRunning = [...state.tasks.values()].some(
    ({ task }) => task.status === 'running' && task.agent_id === agent_id,
  );
  const agentState = agent?.draining ? 'draining' : isRunning ? 'processing' : 'ready';
  return { ok: true, agent_id, state: agentState, cancelled_request_ids };
}

/** Whether a call names no registration, or the present one of its agent. */
function isPresent(state: FakeState, { registration }: FakeRequest['body'], agent_id: string): boolean {
  return registration === undefined || registration === state.agents.get(agent_id)?.token;
}

function applyReport({ state }: RoutesDeps, body: FakeRequest['body'], agent_id: string): FakeResponse {
  const request_id = String(body.request_id);
  const entry = state.tasks.get(request_id);
  if (!entry) return createProblem(404, 'task_not_found', 'There is no such task.');
  if (entry.task.agent_id !== agent_id) {
    return createProblem(400, 'agent_mismatch', 'The task is another agent’s.');
  }
  const accepted = state.report(body as Parameters<FakeState['report']>[0]);
  return { status: 200, body: { ok: true, request_id, status: entry.task.status, accepted } };
}

/** The response with a problem, as a gateway describes it. */
export function createProblem(status: number, code: string, detail: string): FakeResponse {
  const title = code.replaceAll('_', ' ');
  const errors = status === 422 ? { errors: [{ pointer: '', detail }] } : {};
  const body = { type: `urn:task-gateway:problem:${code}`, title, status, detail, code, ...errors };
  return { status, body, type: 'application/problem+json' };
}
