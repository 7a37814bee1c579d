/**
 * An agent at the level of sockets: the test says byte by byte what each request gets for an answer. It notes every
 * connection and every request, so that "nothing was sent" can be seen and not only believed.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** One request as it came in. */
export type Received = {
  readonly line: string;
  /** Names as they were written, in order. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
};

/** What a request gets; the connection is the script's to write to, end or reset. */
export type Script = (socket: Socket, request: Received, nth: number) => void;

export type ScriptedAgent = {
  readonly port: number;
  readonly url: string;
  readonly requests: readonly Received[];
  /** Connections that were ever opened. */
  connections(): number;
  /** Bytes that ever came in. */
  bytes(): number;
  /** Connections that are open now. */
  open(): number;
  /** Resolves once the condition holds; looked at after everything that happens to the agent. */
  until(condition: (agent: ScriptedAgent) => boolean): Promise<void>;
  close(): Promise<void>;
};

export type AgentSettings = {
  readonly host?: string;
  readonly tls?: TlsOptions;
  /** Called for each connection before anything is read. */
  readonly onConnection?: (socket: Socket) => void;
};

/** An answer without a body. */
export function answer(status: number, headers = ''): string {
  return `HTTP/1.1 ${status} Whatever\r\ncontent-length: 0\r\n${headers}\r\n`;
}

/** Listens on a free port of the loopback. */
export async function startAgent(script: Script, settings: AgentSettings = {}): Promise<ScriptedAgent> {
  const { host = '127.0.0.1', tls } = settings;
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  const waiters = new Set<() => void>();
  let connections = 0;
  let bytes = 0;
  const tell = (): void => {
    for (const waiter of waiters) waiter();
  };

  const serve = (socket: Socket): void => {
    let pending = '';
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      pending += chunk.toString('latin1');
      for (let read = readRequest(pending); read; read = readRequest(pending)) {
        pending = read.rest;
        requests.push(read.request);
        script(socket, read.request, requests.length);
      }
      tell();
    });
  };
  const server: Server = tls ? createTlsServer(tls, serve) : createServer(serve);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      tell();
    });
    settings.onConnection?.(socket);
    tell();
  });
  // A handshake that fails is the other side's affair; the attempt's outcome tells of it.
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
        const look = (): void => {
          if (!condition(agent)) return;
          waiters.delete(look);
          resolve();
        };
        waiters.add(look);
        look();
      }),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return agent;
}

function readRequest(text: string): { request: Received; rest: string } | undefined {
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
