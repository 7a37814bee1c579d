/**
 * The node:http server with every limit set: sizes and times of headers and requests, connections, and a
 * problem as the response to bytes that are not valid HTTP. It is started once and ended once.
 *
 * It serves one request of a connection at a time. Requests that a caller sends before it has the response to
 * the first wait, so that no connection holds more than one response, and what a caller does not read is not
 * rendered for it a second time. When `WAITING_MAX` requests wait, the socket is paused until there are
 * fewer. Requests that were read with them still join.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createAmounts } from '../async/amounts.ts';
import { http } from './node-http.ts';
import { describeProblem, Problem } from './problems.ts';

const HEADER_BYTES_MAX = 16 * 1024;
/** Requests that may wait on one connection before it is read no further. */
const WAITING_MAX = 16;
/** Time between two checks for requests that take too long. */
const CHECK_MS = 1_000;
/**
 * Longer than proxies keep an idle connection (load balancers expect more than 60 s), so that none sends a
 * request while it is closed, and than the time between two heartbeats.
 */
const KEEP_ALIVE_MS = 75_000;
const IDLE_CHECK_MS = 20;
/** A tick in which nothing arrives takes less than this. */
const QUIET_MS = 0.1;
const QUIET_PAUSE_MS = 5;
const QUIET_TRIES = 20;
/**
 * A connection without traffic for this long is closed: longer than the longest poll and the longest ping
 * interval.
 */
const IDLE_MS = 300_000;

export type ServerLimits = {
  readonly connectionsMax: number;
  /** Time for the headers of a request, from its first byte. */
  readonly headersMs: number;
  /** Time for a whole request with a small body. */
  readonly requestMs: number;
  /** Time for a request with the largest body. A body that is read has less: see `request/body-reserve`. */
  readonly longestRequestMs: number;
  /** The address whose share a connection counts for; null for none. */
  readonly addressOf: (socket: Socket) => string | null;
};

export type HttpServer = {
  /** The responses in progress: one for each connection at most. */
  readonly responses: ReadonlySet<ServerResponse>;
  listen(at: { readonly port: number; readonly host: string }): Promise<AddressInfo>;
  /**
   * Calls `onStop`, stops listening, and waits until every connection has closed; it closes those left after
   * `graceMs`.
   */
  drain(graceMs: number, onStop: () => void): Promise<void>;
};

/** A connection: its last response, and those that wait until the one in progress has been sent. */
type Connection = {
  last: ServerResponse;
  readonly waiting: ServerResponse[];
  isBusy: boolean;
  isPaused: boolean;
};

/** Creates the server around a listener; `headers` are those of the responses that it sends by itself. */
export function createServer(
  listener: RequestListener,
  limits: ServerLimits,
  headers: Readonly<Record<string, string>>,
): HttpServer {
  const order = createOrder((res) => {
    const { req } = res;
    if (!hasProperHost(req)) {
      const invalid = describeInvalid(buildInvalidProblem(undefined, limits), headers);
      res.writeHead(invalid.status, invalid.headers).end(invalid.body);
      return;
    }
    req.url = toOriginForm(req);
    listener(req, res);
  });
  const server = http.createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.longestRequestMs,
      connectionsCheckingInterval: Math.min(CHECK_MS, limits.headersMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Checked below: Node's own response would lack the headers and the body that every response has.
      requireHostHeader: false,
    },
    order.add,
  );
  server.maxConnections = limits.connectionsMax;
  limitConnections(server, limits);
  server.timeout = IDLE_MS;
  // Other expectations of a caller are ignored, as HTTP allows; Node would refuse them with a bare 417.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  server.on('checkContinue', (req, res) => {
    // While it waits behind others of its connection, Node would write this line into the response, behind
    // its headers. Without the line it closes after the response, since the body may or may not follow.
    if (res.socket !== null) res.writeContinue();
    server.emit('request', req, res);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const respond = (): void => {
      if (!socket.writable) socket.destroy();
      else
        socket.end(renderInvalid(buildInvalidProblem(error.code, limits), headers), () => socket.destroy());
    };
    // It must not be written into the middle of the last response.
    const last = order.lastOf(socket);
    switch (classifyPosition(last)) {
      case 'alone':
        return error.code === 'ECONNRESET' ? socket.destroy() : respond();
      case 'behind':
        socket.pause();
        last?.once('close', respond);
        return;
      case 'within':
        socket.destroy();
    }
  });

  let drained: Promise<void> | null = null;
  return {
    responses: order.responses,
    listen: ({ port, host }) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen({ port, host }, () => {
          server.off('error', reject);
          const address = server.address();
          if (address === null || typeof address === 'string') reject(new Error('No TCP address.'));
          else resolve(address);
        });
      }),
    drain(graceMs, onStop) {
      drained ??= close(server, graceMs, onStop);
      return drained;
    },
  };
}

/** Creates what serves one request of a connection at a time. */
function createOrder(serve: (res: ServerResponse) => void) {
  const responses = new Set<ServerResponse>();
  const connections = new WeakMap<Socket, Connection>();

  function start(socket: Socket, connection: Connection, res: ServerResponse): void {
    connection.isBusy = true;
    responses.add(res);
    res.once('close', () => {
      responses.delete(res);
      startNext(socket, connection);
    });
    serve(res);
  }

  function startNext(socket: Socket, connection: Connection): void {
    const next = connection.waiting.shift();
    // After `Connection: close` no further response is sent.
    if (!next || socket.destroyed || socket.writableEnded) {
      connection.waiting.length = 0;
      connection.isBusy = false;
      return;
    }
    if (connection.isPaused && connection.waiting.length < WAITING_MAX) {
      connection.isPaused = false;
      socket.resume();
    }
    start(socket, connection, next);
  }

  return {
    responses,
    lastOf: (socket: Socket) => connections.get(socket)?.last,
    add({ socket }: IncomingMessage, res: ServerResponse) {
      let connection = connections.get(socket);
      if (!connection) {
        connection = { last: res, waiting: [], isBusy: false, isPaused: false };
        connections.set(socket, connection);
      }
      connection.last = res;
      if (!connection.isBusy) {
        start(socket, connection, res);
        return;
      }
      connection.waiting.push(res);
      if (connection.waiting.length < WAITING_MAX) return;
      connection.isPaused = true;
      socket.pause();
    },
  };
}

/** Exactly one `Host`; HTTP/1.0 may have none. With several, a proxy may go by another one than we do. */
function hasProperHost({ httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  if (headers.host === undefined) return httpVersion !== '1.1';
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count === 1;
}

/**
 * Closes a connection at once when its remote address has half of all connections already. If the address
 * says nothing about its caller (null), only the number of all bounds it.
 */
function limitConnections(server: Server, { connectionsMax, addressOf }: ServerLimits): void {
  const open = createAmounts<string>();
  const ofOneMax = Math.ceil(connectionsMax / 2);
  server.prependListener('connection', (socket: Socket) => {
    const address = addressOf(socket);
    if (address === null) return;
    if (open.of(address) >= ofOneMax) {
      socket.destroy();
      return;
    }
    open.add(address, 1);
    socket.once('close', () => open.add(address, -1));
  });
}

/**
 * Where the invalid bytes stand on their connection, by the last response there: `alone` when nothing else
 * waits for a response, `behind` a complete request whose response is still to come, `within` a request or
 * response that they cut.
 */
function classifyPosition(last: ServerResponse | undefined): 'alone' | 'behind' | 'within' {
  if (!last || last.writableFinished) return 'alone';
  if (last.req.complete && (last.writableEnded || !last.headersSent)) return 'behind';
  if (last.headersSent) return 'within';
  // A response has no socket until the responses before it have been sent.
  return last.socket === null ? 'within' : 'alone';
}

/**
 * The request target in origin form: an absolute form loses its authority, any other text becomes an unknown
 * path.
 */
function toOriginForm({ url = '/' }: IncomingMessage): string {
  if (url.startsWith('/')) return url;
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}

async function close(server: Server, graceMs: number, onStop: () => void): Promise<void> {
  if (!server.listening) return;
  onStop();
  server.closeIdleConnections();
  await untilQuiet();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection becomes idle only when its last response has been sent.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const grace = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
}

/**
 * Resolves in a tick in which nothing arrived, or after some that had work. When a process stops listening,
 * the kernel resets the connections that still wait for it, and a proxy may have sent a request on one of
 * them. Right behind a pause the process is seldom interrupted before it goes on.
 */
async function untilQuiet(): Promise<void> {
  for (let tried = 0; tried < QUIET_TRIES; tried += 1) {
    await new Promise((resolve) => setTimeout(resolve, QUIET_PAUSE_MS));
    const startedMs = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    if (performance.now() - startedMs < QUIET_MS) return;
  }
}

function describeInvalid(problem: Problem, headers: Readonly<Record<string, string>>) {
  const { status, body } = describeProblem(problem);
  return {
    status,
    body,
    headers: {
      ...headers,
      Connection: 'close',
      'Content-Type': 'application/problem+json',
      'Content-Length': String(Buffer.byteLength(body)),
    },
  };
}

function renderInvalid(problem: Problem, common: Readonly<Record<string, string>>): string {
  const { status, body, headers } = describeInvalid(problem, common);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

/** The problem of an invalid request, by the code of Node's error. */
function buildInvalidProblem(code: string | undefined, { headersMs, requestMs }: ServerLimits): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('headers_too_large', `The headers are larger than ${HEADER_BYTES_MAX} bytes.`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem(
        'request_timeout',
        `A request must arrive within ${requestMs / 1_000} seconds and one more for each 64 KiB, its headers within ${headersMs / 1_000}.`,
      );
    default:
      return new Problem('malformed_request', 'The request is not valid HTTP/1.1.');
  }
}
