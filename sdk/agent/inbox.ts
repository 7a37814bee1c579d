/**
 * Where the gateway pushes tasks to. Answers at once: 202 taken, 409 "I have it", 503 busy or leaving, 401 not signed
 * by the gateway, 400 no task, 404 not this agent's or not this path, 413 too large. The work goes on after the answer.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { Task } from '../contract.ts';
import { remainingMs } from './remaining.ts';
import { isAuthentic } from './signature.ts';
import type { Work } from './work.ts';

/** Where to listen for pushes. */
export type ListenOptions = {
  /** TCP port; 0 or absent: any free one. */
  readonly port?: number | undefined;
  /** Address to listen on; 127.0.0.1 unless told otherwise. */
  readonly host?: string | undefined;
  /** Path of the endpoint; `/` unless told otherwise. */
  readonly path?: string | undefined;
};

export type Inbox = {
  /** Begins to listen; answers the URL the gateway reaches it at if it can reach `host`. */
  open(): Promise<string>;
  /** Stops listening and cuts what is still connected. Twice is fine. */
  close(): Promise<void>;
};

export type InboxDeps = {
  readonly listen: ListenOptions;
  readonly agent_id: string;
  /** A push signed with none of these is refused; without any, signatures are not looked at. */
  readonly pushSecrets: readonly string[];
  readonly work: Pick<Work, 'take'>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

/** Twice what a gateway takes as a submission: a task is little more than that. */
const BODY_BYTES_MAX = 8_388_608;
const REQUEST_MS_MAX = 30_000;
const BUSY_SECONDS = 1;

/** Creates the inbox of one agent. */
export function createInbox(deps: InboxDeps): Inbox {
  const { host = '127.0.0.1', port = 0, path = '/' } = deps.listen;
  const server = createServer({ requestTimeout: REQUEST_MS_MAX }, (request, response) => {
    answerPush(deps, path, request)
      .then((status) => send(response, status))
      .catch((error: unknown) => {
        deps.onError(error);
        if (!response.headersSent) send(response, 500);
      });
  });
  return {
    async open() {
      await listen(server, host, port);
      server.on('error', deps.onError);
      const address = server.address();
      const bound = typeof address === 'object' && address ? address.port : port;
      return new URL(path, `http://${host.includes(':') ? `[${host}]` : host}:${bound}`).href;
    },
    async close() {
      if (!server.listening) return;
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function send(response: ServerResponse, status: number): void {
  if (status === 503) response.setHeader('Retry-After', BUSY_SECONDS);
  if (status === 405) response.setHeader('Allow', 'POST');
  // Whoever sends more than is read would otherwise go on sending.
  if (status === 413) response.setHeader('Connection', 'close');
  response.writeHead(status, { 'Content-Length': 0 }).end();
}

/** The status a push is answered with. */
async function answerPush(deps: InboxDeps, path: string, request: IncomingMessage): Promise<number> {
  const { agent_id, pushSecrets, work, clock } = deps;
  const { headers, method, url = '/' } = request;
  if (url.split('?')[0] !== path) return 404;
  if (method !== 'POST') return 405;
  const body = await readBody(request);
  if (!body) return 413;
  const push = {
    id: first(headers['webhook-id']),
    timestamp: first(headers['webhook-timestamp']),
    signature: first(headers['webhook-signature']),
    body,
  };
  if (pushSecrets.length > 0 && !isAuthentic(push, pushSecrets, clock.nowMs())) return 401;
  const task = readTask(body);
  if (!task) return 400;
  if (task.agent_id !== agent_id) return 404;
  const taking = work.take(task, remainingMs(task, first(headers['task-remaining'])));
  switch (taking) {
    case 'taken':
      return 202;
    case 'held':
      return 409;
    case 'full':
    case 'closed':
      return 503;
  }
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** The whole body, or nothing if it is too large. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function readTask(body: Uint8Array): Task | undefined {
  try {
    const task = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return typeof task?.request_id === 'string' && typeof task.timeout === 'number' ? task : undefined;
  } catch {
    return undefined;
  }
}
