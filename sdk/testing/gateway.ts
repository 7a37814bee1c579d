/**
 * A gateway in memory behind a `fetch`, for the tests of those who write clients and agents: no port, no process, no
 * clock. It answers what the document allows. It knows all calls but the administrator's listings.
 */
import type { RequestId, Task } from '../contract.ts';
import type { Fetch } from '../transport.ts';
import { type Answer, createRoutes, type RoutesDeps } from './routes.ts';
import { createWorld, type World } from './world.ts';

/** A gateway in memory, and what a test may do to it. */
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
  /** Answers again. */
  recover(): void;
};

/** What a fake gateway does otherwise than usual. */
export type FakeGatewayOptions = {
  /** How pushes travel to the agents: `(request) => agent.fetch(request)`, or the platform's `fetch` if not given. */
  readonly push?: ((request: Request) => Promise<Response>) | undefined;
  /** Seconds between two heartbeats that it asks of agents; 15 unless told otherwise. */
  readonly heartbeatSeconds?: number | undefined;
};

const BASE_URL = 'http://gateway.test';
const AUTH = 'secret-of-the-fake-gateway';

/** Creates a gateway without agents. */
export function createFakeGateway(settings: FakeGatewayOptions = {}): FakeGateway {
  const { push = (request) => globalThis.fetch(request), heartbeatSeconds = 15 } = settings;
  const watchers = new Set<() => void>();
  const world = createWorld(() => {
    for (const watcher of [...watchers]) watcher();
    pushAll(world, push);
  });
  const streams = createStreams(world, watchers);
  const until = createUntil(watchers);
  const answer = createRoutes({ world, until, heartbeatSeconds, auth: AUTH, openStream: streams.open });
  let down = false;

  const fetch: Fetch = async (request, init) => {
    const own = new Request(request, init);
    own.signal.throwIfAborted();
    const text = await own.text();
    if (down) throw new TypeError('The fake gateway is down.');
    const body = text === '' ? {} : JSON.parse(text);
    const aborted = new Promise<never>((_resolve, reject) => {
      own.signal.addEventListener('abort', () => reject(own.signal.reason));
    });
    const answered = answer({ body, url: new URL(own.url), request: own });
    return respond(await Promise.race([answered, aborted]), own.signal);
  };

  return {
    options: { baseUrl: BASE_URL, auth: AUTH, fetch },
    tasks: () => [...world.tasks.values()].map(({ task }) => task),
    agents: () => [...world.agents.keys()],
    cancel: (request_id) => world.fail(request_id, 'cancelled by user'),
    expire: (request_id) => world.fail(request_id, 'timeout'),
    forgetAgents: () => world.agents.clear(),
    cutStreams: streams.cut,
    fail() {
      down = true;
      streams.cut();
    },
    recover() {
      down = false;
    },
  };
}

/** How to wait for something to be there; looked for now and whenever something has happened. */
function createUntil(watchers: Set<() => void>): RoutesDeps['until'] {
  return (look, signal) =>
    new Promise((resolve, reject) => {
      const watch = (): void => {
        const found = look();
        if (found === undefined) return;
        watchers.delete(watch);
        resolve(found);
      };
      watchers.add(watch);
      signal.addEventListener('abort', () => {
        watchers.delete(watch);
        reject(signal.reason);
      });
      watch();
    });
}

/** The streams that are open. */
function createStreams(world: World, watchers: Set<() => void>) {
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
            for (const { id, data } of world.events(session, last)) {
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

/** Pushes what the agents have not been given yet. */
function pushAll(world: World, push: Push): void {
  for (const [agent_id, { registration }] of world.agents) {
    if (registration.endpoint === 'pull') continue;
    for (let task = world.handOut(agent_id); task; task = world.handOut(agent_id)) {
      void deliver(world, registration.endpoint, task, push);
    }
  }
}

/** What is not taken is offered again as soon as something else has happened. */
async function deliver(world: World, endpoint: string, task: Task, push: Push): Promise<void> {
  const held = world.tasks.get(task.request_id);
  const headers = { 'content-type': 'application/json', 'task-remaining': String(task.timeout) };
  const request = new Request(endpoint, { method: 'POST', headers, body: JSON.stringify(task) });
  const answer = await push(request).catch(() => undefined);
  if (!held) return;
  held.acknowledged = answer?.ok === true || answer?.status === 409;
  held.handed = held.acknowledged;
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
