/**
 * A server on a real socket with scripted behaviours. The first segment of the path names the behaviour, so
 * that a client selects one by its `baseUrl`. A behaviour is called with each request and its number.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** One request to a behaviour. */
export type Visit = {
  /** The number of the request; 1 for the first. */
  readonly count: number;
  readonly method: string;
  /** The path and query after the behaviour's name. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly response: ServerResponse;
  /** Responds with JSON, or with problem details. */
  respond(status: number, body?: unknown, headers?: Record<string, string>): void;
  /** Starts or continues an event stream, as the gateway does. */
  stream(...frames: readonly string[]): void;
  /** Cuts the connection. */
  cut(): void;
};

export type Behaviour = (visit: Visit) => void;

export type ScriptedServer = {
  /** Returns the address of a behaviour. */
  baseUrl(behaviour: string): string;
  /** Returns all requests to a behaviour so far. */
  visits(behaviour: string): readonly Visit[];
  openConnections(): number;
  close(): Promise<void>;
};

/** Starts the server on a free port. */
export async function startScriptedServer(behaviours: Record<string, Behaviour>): Promise<ScriptedServer> {
  const visits = new Map<string, Visit[]>();
  const sockets = new Set<Socket>();
  const server = createServer(async (request, response) => {
    const [, name = '', path = ''] = /^\/([^/]*)(.*)$/.exec(request.url ?? '') ?? [];
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const earlier = visits.get(name) ?? [];
    const visit = createVisit(earlier.length + 1, path, request, response, Buffer.concat(chunks).toString());
    visits.set(name, [...earlier, visit]);
    const behave = behaviours[name];
    if (behave) behave(visit);
    else visit.respond(418);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: (behaviour) => `http://127.0.0.1:${port}/${behaviour}`,
    visits: (behaviour) => visits.get(behaviour) ?? [],
    openConnections: () => sockets.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function createVisit(
  count: number,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): Visit {
  return {
    count,
    method: request.method ?? '',
    path,
    headers: request.headers,
    body,
    response,
    respond(status, content, headers = {}) {
      const type = status < 400 ? 'application/json' : 'application/problem+json';
      response.writeHead(status, { 'content-type': type, connection: 'close', ...headers });
      response.end(content === undefined ? undefined : JSON.stringify(content));
    },
    stream(...frames) {
      if (!response.headersSent)
        response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
      for (const frame of frames) response.write(frame);
      response.flushHeaders();
    },
    cut: () => {
      response.destroy();
    },
  };
}

/** Returns problem details as the gateway sends them. */
export function problem(
  status: number,
  code: string,
  detail = 'A detail for tests.',
): Record<string, unknown> {
  return { type: `urn:task-gateway:problem:${code}`, title: code, status, detail, code };
}

/** Returns the frame of a `task_done` event. */
export function doneFrame(id: string, request_id = `task-${id}`): string {
  const event = {
    event: 'task_done',
    request_id,
    status: 'success',
    result: { output: '完成' },
    error_info: null,
  };
  return `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
}
