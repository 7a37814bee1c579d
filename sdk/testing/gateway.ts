/**
 * A gateway in memory behind a `fetch`, for the tests of those who write clients and agents: no port, no process, no
 * clock. It answers what the document allows. It knows all calls but the administrator's listings.
 */
import type { RequestId, Task } from '../contract.ts';
import type { Fetch } from '../transport.ts';
import { createWorld, isSettled } from './world.ts';

export type FakeGateway = {
  /** What `createClient` and `createAgent` need to reach it. */
  readonly options: { readonly baseUrl: string; readonly auth: string; readonly fetch: Fetch };
  /** All tasks, the oldest first. */
  tasks(): readonly Task[];
  /** Names of the agents that are registered. */
  agents(): readonly string[];
  /** Cancels a task, as a client would. False if it had ended. */
  cancel(request_id: RequestId): boolean;
  /** Lets a task's time run out. False if it had ended. */
  expire(request_id: RequestId): boolean;
  /** Forgets all agents: their next call is answered 404. */
  forgetAgents(): void;
  /** Cuts all event streams. */
  cutStreams(): void;
  /** From now on nobody answers, until `recover`. */
  fail(): void;
  recover(): void;
};

export type FakeGatewayOptions = {
  /** How pushes travel to the agents: `(request) => agent.fetch(request)`, or the platform's `fetch` if not given. */
  readonly push?: ((request: Request) => Promise<Response>) | undefined;
  /** Seconds between two heartbeats that it asks of agents; 15 unless told otherwise. */
  readonly heartbeatSeconds?: number | undefined;
};

type Call = { readonly body: Record<string, unknown>; readonly url: URL; readonly request: Request };
type Answer = { readonly status: number; readonly body?: unknown; readonly type?: string };

const BASE_URL = 'http://gateway.test';
const AUTH = 'secret-of-the-fake-gateway';

/** Creates a gateway without agents. */
export function createFakeGateway(settings: FakeGatewayOptions = {}): FakeGateway {
  const { push = (request) => globalThis.fetch(request), heartbeatSeconds = 15 } = settings;
  const watchers = new Set<() => void>();
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const keys = new Map<string, RequestId>();
  const world = createWorld(() => {
    for (const watcher of [...watchers]) watcher();
    pushAll();
  });
  let down = false;

  /** Resolves with what `look` finds, looked at now and whenever something has happened. */
  function until<T>(look: () => T | undefined, signal: AbortSignal | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const watch = (): void => {
        const found = look();
        if (found === undefined) return;
        watchers.delete(watch);
        resolve(found);
      };
      watchers.add(watch);
      signal?.addEventListener('abort', () => {
        watchers.delete(watch);
        reject(signal.reason);
      });
      watch();
    });
  }

  function pushAll(): void {
    for (const [agent_id, { registration }] of world.agents) {
      if (registration.endpoint === 'pull') continue;
      for (let task = world.handOut(agent_id); task; task = world.handOut(agent_id)) {
        void deliver(registration.endpoint, task);
      }
    }
  }

  /** What is not taken is offered again as soon as something else has happened. */
  async function deliver(endpoint: string, task: Task): Promise<void> {
    const held = world.tasks.get(task.request_id);
    const headers = { 'content-type': 'application/json', 'task-remaining': String(task.timeout) };
    const request = new Request(endpoint, { method: 'POST', headers, body: JSON.stringify(task) });
    const answer = await push(request).catch(() => undefined);
    if (!held) return;
    held.acknowledged = answer?.ok === true || answer?.status === 409;
    held.handed = held.acknowledged;
  }

  function openStream(call: Call): Answer {
    const session = call.url.searchParams.get('cli_session_id');
    if (!session) return refuse(422, 'validation_failed', 'cli_session_id is needed.');
    let last = call.request.headers.get('last-event-id') ?? call.url.searchParams.get('last_event_id');
    let watch = (): void => undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const write = (text: string): void => controller.enqueue(new TextEncoder().encode(text));
        streams.add(controller);
        watch = () => {
          if (!streams.has(controller)) watchers.delete(watch);
          else
            for (const { id, data } of world.events(session, last)) {
              write(`id: ${id}\ndata: ${data}\n\n`);
              last = id;
            }
        };
        watchers.add(watch);
        write('retry: 100\n: hello\n\n');
        watch();
      },
      cancel: () => void watchers.delete(watch),
    });
    return { status: 200, body, type: 'text/event-stream' };
  }

  async function answerTask(call: Call, rest: string): Promise<Answer> {
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

  function submit({ body, request }: Call): Answer {
    const key = request.headers.get('idempotency-key');
    const known = key === null ? undefined : world.tasks.get(keys.get(key) ?? '');
    const fresh = { status: 'pending', agent_id: null, progress: 0, result: null, error_info: null };
    if (known) return { status: 200, body: { ...known.task, ...fresh } };
    if (typeof body.task_type !== 'string' || !Array.isArray(body.task_tags) || !body.payload) {
      return refuse(422, 'validation_failed', 'task_type, task_tags and payload are needed.');
    }
    const task = world.submit(body as Parameters<typeof world.submit>[0]);
    if (key !== null) keys.set(key, task.request_id);
    return { status: 200, body: task };
  }

  async function answerAgent(call: Call, operation: string): Promise<Answer> {
    const { body } = call;
    const agent_id = String(body.agent_id ?? '');
    if (agent_id === '') return refuse(400, 'agent_id_missing', 'agent_id is needed.');
    if (operation === 'result') return report(body, agent_id);
    if (operation === 'register') world.register(body as Parameters<typeof world.register>[0]);
    const member = world.agents.get(agent_id);
    if (!member) return refuse(404, 'agent_not_found', 'There is no such agent: register.');
    const ids = Array.isArray(body.request_ids) ? body.request_ids.map(String) : undefined;
    const cancelled_request_ids = world.acknowledge(agent_id, ids);
    const running = [...world.tasks.values()].some(
      ({ task }) => task.status === 'running' && task.agent_id === agent_id,
    );
    if (typeof body.draining === 'boolean') member.draining = body.draining;
    const state = member.draining ? 'draining' : running ? 'processing' : 'ready';
    const receipt = { ok: true, agent_id, state, cancelled_request_ids };
    switch (operation) {
      case 'register':
        return { status: 200, body: { ...receipt, heartbeat_interval: heartbeatSeconds, offline_after: 90 } };
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

  function report(body: Record<string, unknown>, agent_id: string): Answer {
    const request_id = String(body.request_id);
    const held = world.tasks.get(request_id);
    if (!held) return refuse(404, 'task_not_found', 'There is no such task.');
    if (held.task.agent_id !== agent_id) return refuse(400, 'agent_mismatch', 'The task is another agent’s.');
    const accepted = world.report(body as Parameters<typeof world.report>[0]);
    return { status: 200, body: { ok: true, request_id, status: held.task.status, accepted } };
  }

  async function route(call: Call): Promise<Answer> {
    const { pathname } = call.url;
    const secret = call.request.headers.get('authorization')?.slice('Bearer '.length) ?? call.body.auth;
    if (secret !== AUTH) return refuse(401, 'unauthorized', 'The secret is wrong.');
    if (pathname === '/api/cli/events') return openStream(call);
    if (pathname === '/api/cli/tasks') return submit(call);
    const [, group, rest = ''] = /^\/api\/(cli\/tasks|agent)\/(.+)$/.exec(pathname) ?? [];
    if (group === 'agent') return answerAgent(call, rest);
    if (group === 'cli/tasks') return answerTask(call, rest);
    return refuse(404, 'route_not_found', 'The fake gateway knows no such path.');
  }

  const fetch: Fetch = async (request, init) => {
    const own = new Request(request, init);
    own.signal.throwIfAborted();
    const text = await own.text();
    if (down) throw new TypeError('The fake gateway is down.');
    const body = text === '' ? {} : JSON.parse(text);
    const answered = route({ body, url: new URL(own.url), request: own });
    const aborted = new Promise<never>((_resolve, reject) => {
      own.signal.addEventListener('abort', () => reject(own.signal.reason));
    });
    return respond(await Promise.race([answered, aborted]), own.signal);
  };

  function cutStreams(): void {
    for (const stream of streams) stream.error(new TypeError('The stream was cut.'));
    streams.clear();
  }

  return {
    options: { baseUrl: BASE_URL, auth: AUTH, fetch },
    tasks: () => [...world.tasks.values()].map(({ task }) => task),
    agents: () => [...world.agents.keys()],
    cancel: (request_id) => world.fail(request_id, 'cancelled by user'),
    expire: (request_id) => world.fail(request_id, 'timeout'),
    forgetAgents: () => world.agents.clear(),
    cutStreams,
    fail() {
      down = true;
      cutStreams();
    },
    recover() {
      down = false;
    },
  };
}

function refuse(status: number, code: string, detail: string): Answer {
  const title = code.replaceAll('_', ' ');
  const errors = status === 422 ? { errors: [{ pointer: '', detail }] } : {};
  const body = { type: `urn:task-gateway:problem:${code}`, title, status, detail, code, ...errors };
  return { status, body, type: 'application/problem+json' };
}

function respond({ status, body, type = 'application/json' }: Answer, signal: AbortSignal): Response {
  const headers = { 'content-type': type, 'task-gateway-version': '0.0.0-fake' };
  if (!(body instanceof ReadableStream)) {
    return new Response(body === undefined ? null : JSON.stringify(body), { status, headers });
  }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  body.pipeTo(writable, { signal }).catch(() => undefined);
  return new Response(readable, { status, headers });
}
