/**
 * A gateway as small as the specification allows: all of L0, in memory, without anything that the document
 * decides beyond it. It shows that the letter can be kept in a few hundred lines, and is there to try the kit
 * on. It imports nothing but Node, and the author of a gateway may begin with it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type MinimalGateway = { readonly url: string; close(): Promise<void> };
export type MinimalSecrets = { readonly gateway: string; readonly admin: string };

type Json = Record<string, unknown>;
type Task = {
  readonly request_id: string;
  readonly task_type: string;
  readonly task_tags: readonly string[];
  readonly payload: Json;
  readonly cli_session_id: string;
  readonly create_time: number;
  readonly timeout: number;
  status: 'pending' | 'running' | 'success' | 'failed';
  agent_id: string | null;
  progress: number;
  result: Json | null;
  error_info: string | null;
};
type Agent = {
  readonly agent_id: string;
  readonly endpoint: string;
  readonly agent_tags: readonly string[];
  readonly max_concurrent: number;
  /** What it said of other work when it registered. */
  readonly current_load: number;
};

/** A request that is refused. */
class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type FieldType = 'text' | 'texts' | 'number' | 'object';
const IS: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  texts: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  number: (value) => typeof value === 'number',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};
const SUBMISSION: Readonly<Record<string, FieldType>> = {
  task_type: 'text',
  task_tags: 'texts',
  cli_session_id: 'text',
  payload: 'object',
  timeout: 'number',
};
const REGISTRATION: Readonly<Record<string, FieldType>> = {
  agent_id: 'text',
  endpoint: 'text',
  agent_tags: 'texts',
  max_concurrent: 'number',
  current_load: 'number',
};
const REPORT: Readonly<Record<string, FieldType>> = { request_id: 'text', status: 'text' };
/** The longest that a timer of Node can wait. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Serves it on a port of this machine; 0 takes a free one. Resolves once it listens. */
export async function serveMinimalGateway(port: number, secrets: MinimalSecrets): Promise<MinimalGateway> {
  const state = createState();
  const server = createServer((request, response) => {
    serve(request, response, secrets, state).catch((error: unknown) => {
      const status = error instanceof Refused ? error.status : 500;
      respond(response, status, { detail: error instanceof Error ? error.message : String(error) });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', () => resolve());
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      state.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type State = ReturnType<typeof createState>;

function createState() {
  const tasks = new Map<string, Task>();
  const agents = new Map<string, Agent>();
  const timers = new Map<string, NodeJS.Timeout>();
  /** The events of each session, as they are sent, and who listens to it. */
  const feeds = new Map<string, { readonly sent: string[]; readonly streams: Set<ServerResponse> }>();

  function feedOf(session: string) {
    const feed = feeds.get(session) ?? { sent: [], streams: new Set<ServerResponse>() };
    feeds.set(session, feed);
    return feed;
  }

  function loadOf({ agent_id, current_load }: Agent): number {
    const own = [...tasks.values()].filter((task) => task.status === 'running' && task.agent_id === agent_id);
    return current_load + own.length;
  }

  function end(
    task: Task,
    status: 'success' | 'failed',
    result: Json | null,
    error_info: string | null,
  ): void {
    clearTimeout(timers.get(task.request_id));
    timers.delete(task.request_id);
    Object.assign(task, { status, result, error_info });
    const { request_id } = task;
    const line = `data: ${JSON.stringify({ event: 'task_done', request_id, status, result, error_info })}\n\n`;
    const feed = feedOf(task.cli_session_id);
    feed.sent.push(line);
    for (const stream of feed.streams) stream.write(line);
  }

  function assign(task: Task): void {
    if (task.status !== 'pending') return;
    const agent = [...agents.values()].find(
      (one) => one.agent_tags.some((tag) => task.task_tags.includes(tag)) && loadOf(one) < one.max_concurrent,
    );
    if (!agent) {
      end(task, 'failed', null, '无可用 Agent');
      return;
    }
    Object.assign(task, { status: 'running', agent_id: agent.agent_id });
    const headers = { 'content-type': 'application/json' };
    // An agent that cannot be reached does not report: then the task ends by its timeout.
    fetch(agent.endpoint, { method: 'POST', headers, body: JSON.stringify(task) }).then(
      (response) => response.body?.cancel(),
      () => {},
    );
  }

  return {
    tasks,
    agents,
    feedOf,
    loadOf,
    end,
    submit(task: Task): void {
      tasks.set(task.request_id, task);
      const ms = Math.min(task.timeout * 1_000, TIMER_MAX_MS);
      timers.set(
        task.request_id,
        setTimeout(() => end(task, 'failed', null, 'timeout'), ms),
      );
      setImmediate(assign, task);
    },
    stop(): void {
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  secrets: MinimalSecrets,
  state: State,
) {
  const url = new URL(request.url ?? '/', 'http://gateway');
  const call = `${request.method} ${url.pathname.replace(/^(\/api\/cli\/tasks\/)[^/]+/, '$1{id}')}`;
  const id = decodeURIComponent(url.pathname.split('/')[4] ?? '');
  const body = request.method === 'POST' && !call.endsWith('/cancel') ? await readBody(request) : {};
  const requireSecret = (given: unknown): void => {
    if (given !== secrets.gateway) throw new Refused(401, 'The secret is wrong: send it as `auth`.');
  };

  switch (call) {
    case 'POST /api/cli/tasks': {
      requireSecret(body.auth);
      requireFields(body, SUBMISSION);
      const task = createTask(body);
      respond(response, 200, task);
      return state.submit(task);
    }
    case 'GET /api/cli/tasks/{id}':
      requireSecret(url.searchParams.get('auth'));
      return respond(response, 200, findTask(state, id));
    case 'POST /api/cli/tasks/{id}/cancel': {
      requireSecret(url.searchParams.get('auth'));
      const task = findTask(state, id);
      if (task.status === 'success' || task.status === 'failed')
        throw new Refused(400, 'The task has ended.');
      state.end(task, 'failed', null, 'cancelled by user');
      return respond(response, 200, { ok: true, request_id: id });
    }
    case 'GET /api/cli/events':
      requireSecret(url.searchParams.get('auth'));
      return subscribe(response, state.feedOf(url.searchParams.get('cli_session_id') ?? ''));
    case 'POST /api/agent/register':
      requireSecret(body.auth);
      requireFields(body, REGISTRATION);
      state.agents.set(String(body.agent_id), body as Agent);
      return respond(response, 200, { ok: true });
    case 'POST /api/agent/heartbeat':
      findAgent(state, body);
      return respond(response, 200, { ok: true });
    case 'POST /api/agent/unregister':
      state.agents.delete(findAgent(state, body).agent_id);
      return respond(response, 200, { ok: true });
    case 'POST /api/agent/result':
      if (body.agent_id === undefined) throw new Refused(400, 'Send `agent_id`.');
      requireFields(body, REPORT);
      return respond(response, 200, { ok: true, accepted: takeReport(state, body) });
    case 'GET /api/admin/agents': {
      if (request.headers['x-admin-auth'] !== secrets.admin) throw new Refused(401, 'Send `X-Admin-Auth`.');
      const agents = [...state.agents.values()].map((agent) => describeAgent(state, agent));
      return respond(response, 200, { agents });
    }
    default:
      throw new Refused(404, 'There is no such path.');
  }
}

async function readBody(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new Refused(400, 'The body is no JSON.');
  }
  if (!IS.object(body)) throw new Refused(422, 'The body must be an object.');
  return body as Json;
}

function requireFields(body: Json, fields: Readonly<Record<string, FieldType>>): void {
  for (const [name, type] of Object.entries(fields))
    if (!IS[type](body[name])) throw new Refused(422, `\`${name}\` must be there, of the type ${type}.`);
}

function createTask(body: Json): Task {
  const { task_type, task_tags, payload, cli_session_id, timeout } = body as Task;
  return {
    request_id: crypto.randomUUID(),
    task_type,
    task_tags,
    payload,
    cli_session_id,
    create_time: Date.now() / 1_000,
    timeout,
    status: 'pending',
    agent_id: null,
    progress: 0,
    result: null,
    error_info: null,
  };
}

function findTask(state: State, id: string): Task {
  const task = state.tasks.get(id);
  if (!task) throw new Refused(404, 'There is no such task.');
  return task;
}

function findAgent(state: State, body: Json): Agent {
  if (body.agent_id === undefined) throw new Refused(400, 'Send `agent_id`.');
  const agent = state.agents.get(String(body.agent_id));
  if (!agent) throw new Refused(404, 'The agent is not registered.');
  return agent;
}

/** Returns whether the report changed the task: it does not once the task has ended. */
function takeReport(
  state: State,
  { request_id, agent_id, status, progress, result, error_info }: Json,
): boolean {
  const task = findTask(state, String(request_id));
  if (task.agent_id !== agent_id) throw new Refused(400, 'The task is not this agent’s.');
  if (task.status !== 'running') return false;
  if (typeof progress === 'number') task.progress = Math.min(100, Math.max(0, Math.trunc(progress)));
  if (status === 'success') state.end(task, 'success', (result as Json | null) ?? {}, null);
  else if (status === 'failed')
    state.end(task, 'failed', null, String(error_info ?? 'failed without a reason'));
  return true;
}

function describeAgent(state: State, agent: Agent): Json {
  const load = state.loadOf(agent);
  const { agent_id, endpoint, agent_tags, max_concurrent } = agent;
  const isProcessing = load > agent.current_load;
  return {
    agent_id,
    endpoint,
    agent_tags,
    max_concurrent,
    current_load: load,
    state: isProcessing ? 'processing' : 'ready',
  };
}

function subscribe(response: ServerResponse, feed: ReturnType<State['feedOf']>): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(`:\n\n${feed.sent.join('')}`);
  feed.streams.add(response);
  response.once('close', () => feed.streams.delete(response));
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
