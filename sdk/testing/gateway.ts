/**
 * A fake gateway in memory, reached through a `fetch`, for tests of clients and agents: no port, no process,
 * no clock. Its responses conform to the OpenAPI document. It has all operations but the administrator's
 * lists.
 */
import type { AgentId, RequestId, Task } from '../contract.ts';
import { CANCELLED_TEXT, TIMEOUT_TEXT } from '../settled.ts';
import type { Fetch } from '../transport.ts';
import { createFakeState, type FakeState } from './fake-state.ts';
import { createProblem, createRoutes, type FakeResponse, type RoutesDeps } from './routes.ts';

/** A fake gateway, and how a test controls it. */
export type FakeGateway = {
  /** The options with which `createClient` and `createAgent` reach it. With them an agent says nothing. */
  readonly options: {
    readonly baseUrl: string;
    readonly auth: string;
    readonly fetch: Fetch;
    readonly logLevel: 'off';
  };
  /** Returns all tasks, the oldest first. */
  tasks(): readonly Task[];
  /** Returns the ids of the registered agents. */
  agents(): readonly AgentId[];
  /** Cancels a task, as a client would. Returns false if it was in a terminal state already. */
  cancel(request_id: RequestId): boolean;
  /** Makes a task time out. Returns false if it was in a terminal state already. */
  expire(request_id: RequestId): boolean;
  /** Removes all agents: the response to their next call is 404. */
  forgetAgents(): void;
  /** Cuts all open event streams. */
  cutStreams(): void;
  /** Makes all requests fail until `recover`: without a response, or as `busy` with a 503. */
  fail(how?: 'busy'): void;
  /** Responds to requests again. */
  recover(): void;
};

/** The options of a fake gateway. */
export type FakeGatewayOptions = {
  /** Sends a push to its agent: `(request) => agent.fetch(request)`. Default: the platform's `fetch`. */
  readonly push?: ((request: Request) => Promise<Response>) | undefined;
  /** The interval of heartbeats it asks agents for, in seconds. Default: 15. */
  readonly heartbeatSeconds?: number | undefined;
};

const BASE_URL = 'http://gateway.test';
const AUTH = 'secret-of-the-fake-gateway';
const BUSY: FakeResponse = {
  ...createProblem(503, 'busy', 'The fake gateway is busy.'),
  headers: { 'retry-after': '1' },
};

/** Creates a fake gateway without tasks and agents. */
export function createFakeGateway(settings: FakeGatewayOptions = {}): FakeGateway {
  const { push = (request) => globalThis.fetch(request), heartbeatSeconds = 15 } = settings;
  const watchers = new Set<() => void>();
  const state = createFakeState(() => {
    for (const watcher of [...watchers]) watcher();
    pushAll(state, push);
  });
  const streams = createStreams(state, watchers);
  const waitFor = createWaitFor(watchers);
  const handle = createRoutes({ state, waitFor, heartbeatSeconds, auth: AUTH, openStream: streams.open });
  let failure: 'none' | 'silent' | 'busy' = 'none';

  const fetch: Fetch = async (request, init) => {
    const signal = init?.signal ?? request.signal;
    signal.throwIfAborted();
    // Begins before the body is read: the signal may fire meanwhile.
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
    const respond = async (): Promise<Response> => {
      const text = await request.text();
      if (failure === 'silent') throw new TypeError('The fake gateway is down.');
      if (failure === 'busy') return createResponse(BUSY, signal);
      const body = text === '' ? {} : JSON.parse(text);
      return createResponse(await handle({ body, url: new URL(request.url), request, signal }), signal);
    };
    return await Promise.race([respond(), aborted]);
  };

  return {
    options: { baseUrl: BASE_URL, auth: AUTH, fetch, logLevel: 'off' },
    tasks: () => [...state.tasks.values()].map(({ task }) => task),
    agents: () => [...state.agents.keys()],
    cancel: (request_id) => state.fail(request_id, CANCELLED_TEXT),
    expire: (request_id) => state.fail(request_id, TIMEOUT_TEXT),
    forgetAgents: () => state.agents.clear(),
    cutStreams: streams.cut,
    fail(how) {
      failure = how ?? 'silent';
      streams.cut();
    },
    recover() {
      failure = 'none';
    },
  };
}

/** Creates the function that waits for a change, as the routes need it. */
function createWaitFor(watchers: Set<() => void>): RoutesDeps['waitFor'] {
  return (find, signal) =>
    new Promise((resolve, reject) => {
      const watch = (): void => {
        const found = find();
        if (found === undefined) return;
        watchers.delete(watch);
        resolve(found);
      };
      watchers.add(watch);
      const end = (): void => {
        watchers.delete(watch);
        reject(signal.reason);
      };
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
      else watch();
    });
}

/** Creates the open event streams. */
function createStreams(state: FakeState, watchers: Set<() => void>) {
  const open = new Set<ReadableStreamDefaultController<Uint8Array>>();
  return {
    open(session: string, after: string | null): ReadableStream<Uint8Array> {
      let last = after;
      let watch = (): void => undefined;
      return new ReadableStream<Uint8Array>({
        start(controller) {
          const write = (text: string): void => controller.enqueue(new TextEncoder().encode(text));
          watch = () => {
            if (!open.has(controller)) {
              watchers.delete(watch);
              return;
            }
            for (const { id, data } of state.events(session, last)) {
              write(`id: ${id}\ndata: ${data}\n\n`);
              last = id;
            }
          };
          open.add(controller);
          watchers.add(watch);
          write('retry: 100\n: hello\n\n');
          watch();
        },
        cancel: () => void watchers.delete(watch),
      });
    },
    cut(): void {
      for (const stream of open) stream.error(new TypeError('The stream was cut.'));
      open.clear();
    },
  };
}

type Push = (request: Request) => Promise<Response>;

/** Pushes the tasks that were not sent to their agents yet. */
function pushAll(state: FakeState, push: Push): void {
  for (const [agent_id, { registration }] of state.agents) {
    if (registration.endpoint === 'pull') continue;
    for (let task = state.takeUnsent(agent_id); task; task = state.takeUnsent(agent_id)) {
      void pushOne(state, registration.endpoint, task, push);
    }
  }
}

/** Pushes a task. If the agent does not take it, it is pushed again after the next change. */
async function pushOne(state: FakeState, endpoint: string, task: Task, push: Push): Promise<void> {
  const entry = state.tasks.get(task.request_id);
  const headers = {
    'content-type': 'application/json',
    'task-remaining': String(task.timeout),
    ...entry?.trace,
  };
  const request = new Request(endpoint, { method: 'POST', headers, body: JSON.stringify(task) });
  const response = await push(request).catch(() => undefined);
  if (!entry) return;
  entry.isAcknowledged = response?.ok === true || response?.status === 409;
  entry.isSent = entry.isAcknowledged;
}

function createResponse(
  { status, body, type = 'application/json', headers: own }: FakeResponse,
  signal: AbortSignal,
): Response {
  const headers = { 'content-type': type, 'task-gateway-version': '0.0.0-fake', ...own };
  if (!(body instanceof ReadableStream)) {
    return new Response(body === undefined ? null : JSON.stringify(body), { status, headers });
  }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  body.pipeTo(writable, { signal }).catch(() => undefined);
  return new Response(readable, { status, headers });
}
