/**
 * An agent at the level of sockets: a script of the test writes the response to each request byte by byte.
 * The agent records every connection and every request, so that a test can assert that nothing was sent.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** One request as it was received. */
export type ReceivedRequest = {
  readonly line: string;
  /** In order, with the names as they were sent. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
};

/** Responds to a request; the script may write to the connection, end it or reset it. `nth` counts from 1. */
export type Script = (socket: Socket, request: ReceivedRequest, nth: number) => void;

export type ScriptedAgent = {
  readonly port: number;
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** Number of connections opened since the start. */
  connections(): number;
  /** Number of bytes received since the start. */
  bytes(): number;
  /** Number of connections open now. */
  open(): number;
  /** Resolves once the condition is true; it is checked after every event of the agent's sockets. */
  until(condition: (agent: ScriptedAgent) => boolean): Promise<void>;
  close(): Promise<void>;
};

export type AgentSettings = {
  readonly host?: string;
  readonly tls?: TlsOptions;
  /** Called for each connection before anything is read. */
  readonly onConnection?: (socket: Socket) => void;
};

/** Builds a response without a body. */
export function buildResponse(status: number, headers = ''): string {
  return `HTTP/1.1 ${status} Reason\r\ncontent-length: 0\r\n${headers}\r\n`;
}

/** Starts an agent on a free port of the loopback interface. */
export async function startAgent(script: Script, settings: AgentSettings = {}): Promise<ScriptedAgent> {
  const { host = '127.0.0.1', tls } = settings;
  const requests: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  const checks = new Set<() => void>();
  let connections = 0;
  let bytes = 0;
  const runChecks = (): void => {
    for (const check of checks) check();
  };

  const serve = (socket: Socket): void => {
    let pending = '';
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      pending += chunk.toString('latin1');
      for (let parsed = parseRequest(pending); parsed; parsed = parseRequest(pending)) {
        pending = parsed.rest;
        requests.push(parsed.request);
        script(socket, parsed.request, requests.length);
      }
      runChecks();
    });
  };
  const server: Server = tls ? createTlsServer(tls, serve) : createServer(serve);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      runChecks();
    });
    settings.onConnection?.(socket);
    runChecks();
  });
  // A failed handshake shows in the attempt's outcome.
  server.on('tlsClientError', () => undefined);
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  const agent: ScriptedAgent = {
    port,
    url: `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    requests,
    connections: () => connections,
    bytes: () => bytes,
    open: () => sockets.size,
    until: (condition) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!condition(agent)) return;
          checks.delete(check);
          resolve();
        };
        checks.add(check);
        check();
      }),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return agent;
}

function parseRequest(text: string): { request: ReceivedRequest; rest: string } | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [line = '', ...fields] = text.slice(0, headEnd).split('\r\n');
  const headers = fields.map((field) => {
    const colon = field.indexOf(':');
    return [field.slice(0, colon), field.slice(colon + 1).trim()] as const;
  });
  const length = Number(headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? 0);
  const bodyEnd = headEnd + 4 + length;
  if (text.length < bodyEnd) return undefined;
  const body = Buffer.from(text.slice(headEnd + 4, bodyEnd), 'latin1').toString('utf8');
  return { request: { line, headers, body }, rest: text.slice(bodyEnd) };
}
