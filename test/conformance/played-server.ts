/**
 * The HTTP of the gateways that the kit plays, against an agent and against a client: reads what they call,
 * answers, and listens at one address however often it goes down. Responses have fields of a newer gateway.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describeExchange, type Exchange } from './exchanges.ts';
import { type Fields, isFields } from './findings.ts';

/** A call that the subject made. */
export type Received = {
  /** What `nameOperation` returned for it: `heartbeat`, `submit`; empty for any other call. */
  readonly operation: string;
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
  /** The body as JSON; an empty object where it is another text. */
  readonly body: Fields;
  /** The one of the body, else of the query, else of the header. */
  readonly secret: unknown;
  readonly atMs: number;
  /** The token of the agent's registration at that moment; empty before the first, and for clients. */
  readonly token: string;
  /** What the gateway responded; 0 before it has, and where the connection was cut. */
  status: number;
};

export type Reply = {
  readonly status: number;
  readonly body?: Fields;
  readonly headers?: Readonly<Record<string, string>>;
};

export type PlayedServer = {
  readonly url: string;
  readonly received: readonly Received[];
  /** The same with their responses, as they were given; a gateway adds those that it asked for itself. */
  readonly exchanges: Exchange[];
  listen(): Promise<void>;
  /** Ends every connection; `listen` brings it back at the same address. */
  stopListening(): Promise<void>;
};

export type PlayedServerOptions = {
  readonly host?: string;
  /** A free port of this machine where it is absent. */
  readonly port?: number;
  readonly token?: () => string;
  readonly nameOperation: (method: string, path: string) => string;
  /** The reply to a call; `cut` closes its connection, undefined says that it was answered. */
  readonly serve: (call: Received, response: ServerResponse) => Promise<Reply | 'cut' | undefined>;
};

/** Fields that no agent and no client knows. */
export const NEWER = { newer_field: { of: ['a', 'newer', 'gateway'] } };
/** What every response says of the gateway's version. */
export const VERSION_HEADER = { 'task-gateway-version': '2.99.0' };

/** Creates the server; it does not listen yet. */
export function createPlayedServer(options: PlayedServerOptions): PlayedServer {
  const { host = '127.0.0.1' } = options;
  const received: Received[] = [];
  const exchanges: Exchange[] = [];
  let port = options.port ?? 0;

  const server = createServer(async (request, response) => {
    const call = await receive(request, options).catch(() => undefined);
    if (!call) return;
    received.push(call);
    const reply = await options.serve(call, response);
    if (reply === 'cut') response.destroy();
    else if (reply) {
      call.status = reply.status;
      respond(response, reply);
    }
    const body = typeof reply === 'object' ? reply.body : undefined;
    exchanges.push(describeExchange(`${call.method} ${call.url.pathname}`, call.status, body, call.body));
  });

  return {
    get url() {
      return `http://${host}:${port}`;
    },
    received,
    exchanges,
    async listen() {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(port, host, () => resolve());
      });
      port = (server.address() as AddressInfo).port;
    },
    async stopListening() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function receive(
  request: IncomingMessage,
  { token = () => '', nameOperation }: PlayedServerOptions,
): Promise<Received> {
  const { method = 'GET', headers } = request;
  const current = token();
  const url = new URL(request.url ?? '/', 'http://gateway');
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const body = parseFields(bytes);
  const bearer = headers.authorization?.replace(/^Bearer /, '');
  return {
    operation: nameOperation(method, url.pathname),
    method,
    url,
    headers,
    bytes,
    body,
    secret: body.auth ?? url.searchParams.get('auth') ?? bearer,
    atMs: performance.now(),
    token: current,
    status: 0,
  };
}

function parseFields(bytes: Buffer): Fields {
  try {
    // A byte-order mark is left out: one check alone looks for it.
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}

/** A success. */
export function receipt(body: Fields): Reply {
  return { status: 200, body: { ok: true, ...body, ...NEWER } };
}

/** A refusal in the form of the document. */
export function problem(status: number, code: string, headers: Reply['headers'] = {}): Reply {
  const type = `urn:task-gateway:problem:${code}`;
  return { status, headers, body: { type, title: code, status, detail: `Played: ${code}.`, code, ...NEWER } };
}

function respond(response: ServerResponse, { status, body, headers = {} }: Reply): void {
  if (response.destroyed) return;
  const type = status < 300 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { ...headers, ...VERSION_HEADER, ...(body && { 'content-type': type }) });
  response.end(body && JSON.stringify(body));
}
