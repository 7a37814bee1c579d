/**
 * The gateway of a trial: the simulator in real time, over HTTP. Between it and the subject stands the wire,
 * which notes every call, and on which a call or a stream may differ from the usual. What the subject reads
 * has fields of a newer gateway.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Simulator, SimulatorOptions } from '@task-gateway/simulator';
import { describeExchange, type Exchange } from './exchanges.ts';
import { type Fields, isFields } from './findings.ts';
import { carryStream, FLUSH_MS, NEWER, pause, type WriteFrame } from './trial-streams.ts';

/** A call that the subject made. */
export type Received = {
  /** `heartbeat`, `submit` …; for the output of a task `stream` or `page`; empty for any other call. */
  readonly operation: string;
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
  /** The body as JSON; an empty object if it is another text. */
  readonly body: Fields;
  /** The secret of the body, or else of the query, or else of the header. */
  readonly secret: unknown;
  readonly atMs: number;
  /** The status of the response; 0 before it came, and if the connection was cut. */
  status: number;
  /** When the response was over. */
  endMs: number;
};

export type Reply = {
  readonly status: number;
  readonly body?: Fields;
  readonly headers?: Readonly<Record<string, string>>;
};

/** How a call differs from the usual. */
export type Mishap = {
  /** The response of the kit, which the gateway does not get to see. */
  readonly reply?: Reply;
  /** The connection ends without a response. */
  readonly isCut?: boolean;
  /** Whether the gateway does what was asked before the cut, or before the reply. */
  readonly isServed?: boolean;
  /** Whether the subject gets only the first half of the usual response. */
  readonly isTorn?: boolean;
  /** How long the usual response is on its way. */
  readonly lateMs?: number;
};

/** What is changed on the wire, of all calls. */
export type Wire = {
  readonly divert?: (call: Received, nth: number) => Mishap | undefined | Promise<Mishap | undefined>;
  /** Returns the path with its query, the headers and the body that the gateway gets in place of a call's. */
  readonly ask?: (call: Received) => Partial<Asked> | Promise<Partial<Asked>>;
  /** Returns what the subject gets in place of the usual response. */
  readonly tell?: (call: Received, reply: Reply) => Reply;
  readonly write?: WriteFrame;
};
type Asked = { readonly path: string; readonly headers: Fields; readonly body: Fields };

export type TrialGateway = {
  readonly url: string;
  readonly received: readonly Received[];
  /** The calls with their responses, and what the kit sends to the subject. */
  readonly exchanges: Exchange[];
  /** Returns the calls of one operation, from the given index of all calls on. */
  calls(operation: string, from?: number): readonly Received[];
  /** The ids of the tasks that the subject's submissions have created. */
  readonly created: ReadonlySet<string>;
  /** Returns the ids that a stream of this operation has shown, in order. */
  ids(operation: string): readonly string[];
  /** Makes a call of the kit's own. */
  ask(method: string, path: string, body?: Fields): Promise<Reply>;
  simulator(): Promise<Simulator>;
  listen(): Promise<void>;
  /** Ends every connection; `listen` brings the gateway back at the same address. */
  stopListening(): Promise<void>;
  close(): Promise<void>;
};

/** The gateway's version, in every response. */
const VERSION_HEADER = { 'task-gateway-version': '1.99.0' };
const TASKS = '/api/cli/tasks';
const AGENT = '/api/agent/';
/** The steps in which time moves. */
const STEP_MS = 20;

type Options = Wire & {
  readonly auth: string;
  readonly push?: SimulatorOptions['push'];
  /** The host at which it listens, on a free port; by default this machine. */
  readonly host?: string;
  readonly port?: number;
};

/** Creates the gateway, which does not listen yet. */
export function createTrialGateway({ auth, push, host = '127.0.0.1', ...options }: Options): TrialGateway {
  const received: Received[] = [];
  const exchanges: Exchange[] = [];
  const ids = new Map<string, string[]>();
  const created = new Set<string>();
  const closing = new AbortController();
  let port = options.port ?? 0;
  let world: Promise<Simulator> | undefined;

  async function open(): Promise<Simulator> {
    // A run against a gateway needs no simulator, and does not wait for it to load.
    const { createSimulator } = await import('@task-gateway/simulator');
    const simulator = createSimulator({ auth, push, startTime: Date.now() / 1_000 });
    void moveTime(simulator, closing.signal);
    return simulator;
  }
  const simulator = (): Promise<Simulator> => {
    world ??= open();
    return world;
  };
  const calls = (operation: string, from = 0): readonly Received[] =>
    received.slice(from).filter((call) => call.operation === operation);

  /** Has the gateway do what the call asks. */
  async function serve(call: Received, signal: AbortSignal): Promise<Response> {
    const { method, url, bytes } = call;
    const asked = (await options.ask?.(call)) ?? {};
    const { path = `${url.pathname}${url.search}`, headers = call.headers, body } = asked;
    const kept = Object.entries(headers).filter(([name]) => !OF_CONNECTION.test(name));
    const request = new Request(`http://gateway.test${path}`, {
      method,
      headers: kept.map(([name, value]) => [name, String(value)] as [string, string]),
      ...(method !== 'GET' && { body: body ? JSON.stringify(body) : new Uint8Array(bytes) }),
    });
    return (await simulator()).fetch(request, { signal });
  }

  async function answer(call: Received, response: ServerResponse): Promise<Reply | undefined> {
    const left = new AbortController();
    response.once('close', () => left.abort());
    const nth = calls(call.operation).length - 1;
    const mishap = await options.divert?.(call, nth);
    const isDiverted = mishap?.reply !== undefined || mishap?.isCut === true;
    if (!mishap || !isDiverted || mishap.isServed) {
      const served = await serve(call, left.signal);
      const type = served.headers.get('content-type') ?? '';
      const headers: Record<string, string> = { ...Object.fromEntries(served.headers), ...VERSION_HEADER };
      if (type.startsWith('text/event-stream') && served.body && !isDiverted) {
        call.status = 200;
        response.writeHead(200, headers);
        const seen = ids.get(call.operation) ?? [];
        ids.set(call.operation, seen);
        return void (await carryStream(served.body, { nth, seen, response, write: options.write }));
      }
      const { 'content-length': _, ...own } = headers;
      const text = await served.text();
      const body: Fields | undefined = text === '' ? undefined : { ...JSON.parse(text), ...NEWER };
      const reply: Reply = { status: served.status, headers: own, ...(body && { body }) };
      if (call.operation === 'submit' && served.ok) created.add(String(reply.body?.request_id));
      const told = options.tell?.(call, reply) ?? reply;
      if (!isDiverted) {
        if (mishap?.lateMs) await pause(mishap.lateMs);
        call.status = told.status;
        await respond(response, told, mishap?.isTorn);
        return told;
      }
    }
    const { reply } = mishap ?? {};
    call.status = reply?.status ?? 0;
    if (reply) await respond(response, reply);
    else response.destroy();
    return reply;
  }

  const server = createServer(async (request, response) => {
    try {
      const call = await receive(request);
      received.push(call);
      const reply = await answer(call, response).catch(() => void response.destroy());
      call.endMs = performance.now();
      const { pathname } = call.url;
      exchanges.push(describeExchange(`${call.method} ${pathname}`, call.status, reply?.body, call.body));
    } catch {
      // The caller left before its call was complete.
    }
  });

  return {
    get url() {
      return `http://${host}:${port}`;
    },
    received,
    exchanges,
    created,
    calls,
    ids: (operation) => ids.get(operation) ?? [],
    simulator,
    async ask(method, path, body) {
      const headers = { authorization: `Bearer ${auth}`, 'content-type': 'application/json' };
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const { fetch } = await simulator();
      const response = await fetch(new Request(`http://gateway.test${path}`, init));
      const text = await response.text();
      return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
    },
    async listen() {
      // Loads the simulator first, so that the subject does not wait for it.
      await (await simulator()).clock.advance(0);
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(port, host, () => resolve());
      });
      port = (server.address() as AddressInfo).port;
    },
    stopListening: () => stop(),
    async close() {
      closing.abort();
      await stop();
      await (await world)?.reset();
    },
  };

  async function stop(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}

/** Moves a simulator's time with the real time, until the signal fires. */
async function moveTime({ clock }: Simulator, signal: AbortSignal): Promise<void> {
  for (let lastMs = performance.now(); !signal.aborted; ) {
    const nowMs = performance.now();
    await clock.advance((nowMs - lastMs) / 1_000);
    lastMs = nowMs;
    await pause(STEP_MS);
  }
}

/** The headers of the connection to the subject. */
const OF_CONNECTION = /^(connection|content-length|expect|host|transfer-encoding)$/;

async function receive(request: IncomingMessage): Promise<Received> {
  const { method = 'GET', headers } = request;
  const url = new URL(request.url ?? '/', 'http://gateway');
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const body = parseFields(bytes);
  const bearer = headers.authorization?.replace(/^Bearer /, '');
  return {
    operation: nameOperation(method, url.pathname, headers.accept),
    method,
    url,
    headers,
    bytes,
    body,
    secret: body.auth ?? url.searchParams.get('auth') ?? bearer,
    atMs: performance.now(),
    status: 0,
    endMs: Infinity,
  };
}

function nameOperation(method: string, path: string, accept = ''): string {
  if (path.startsWith(AGENT)) return method === 'POST' ? path.slice(AGENT.length) : '';
  if (path === '/api/cli/events') return method === 'GET' ? 'events' : '';
  if (path === TASKS) return method === 'POST' ? 'submit' : '';
  if (!path.startsWith(`${TASKS}/`)) return '';
  const [, last = ''] = /\/(\w+)$/.exec(path.slice(TASKS.length + 1)) ?? [];
  if (method === 'POST') return last === 'cancel' || last === 'answer' ? last : '';
  if (last === 'output') return accept.includes('text/event-stream') ? 'stream' : 'page';
  return last === 'explain' ? last : 'get';
}

function parseFields(bytes: Buffer): Fields {
  try {
    // Ignores a byte-order mark, because only one check looks for it.
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}

/** Returns a success. */
export function receipt(body: Fields): Reply {
  return { status: 200, body: { ...body, ...NEWER } };
}

/** Returns a refusal in the form of the document. */
export function problem(status: number, code: string, headers: Reply['headers'] = {}): Reply {
  const type = `urn:task-gateway:problem:${code}`;
  return { status, headers, body: { type, title: code, status, detail: `Played: ${code}.`, code, ...NEWER } };
}

/** Sends a response; or half of its body, and then cuts the connection. */
async function respond(
  response: ServerResponse,
  { status, body, headers = {} }: Reply,
  isTorn = false,
): Promise<void> {
  if (response.destroyed) return;
  const bytes = Buffer.from(body ? JSON.stringify(body) : '');
  const type = status < 300 ? 'application/json' : 'application/problem+json';
  const own = { ...(body && { 'content-type': type, 'content-length': bytes.length }) };
  response.writeHead(status, { ...headers, ...VERSION_HEADER, ...own });
  if (!isTorn) return void response.end(bytes);
  response.write(bytes.subarray(0, bytes.length / 2));
  await pause(FLUSH_MS);
  response.destroy();
}
