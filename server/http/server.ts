/**
 * The node:http server: limits on headers, requests and connections, and a problem as the response to bytes
 * that are not valid HTTP. It is started once and ended once.
 */
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { createAmounts } from '../async/amounts.ts';
import { http } from './node-http.ts';
import { describeProblem, Problem } from './problems.ts';

const HEADER_BYTES_MAX = 16 * 1024;
/** How often requests are checked for taking too long. */
const CHECK_MS = 1_000;
/**
 * How long an idle connection is kept. Load balancers keep theirs for up to 60 s; the gateway keeps it
 * longer, so that none sends a request while its connection closes. It is also longer than the time between
 * two heartbeats.
 */
const KEEP_ALIVE_MS = 75_000;
const IDLE_CHECK_MS = 20;
/**
 * A connection without traffic is closed after this long, which exceeds the longest poll and ping interval.
 */
const IDLE_MS = 300_000;

export type ServerLimits = {
  readonly connectionsMax: number;
  /** How long the headers of a request may take, from its first byte. */
  readonly headersMs: number;
  /** How long a whole request may take. */
  readonly requestMs: number;
  /** The address under which a connection is counted; null if it is not counted by address. */
  readonly addressOf: (socket: Socket) => string | null;
};

export type DrainOptions = {
  /** After this long every connection is closed. */
  readonly graceMs: number;
  /** Whether idle connections stay open until then, because a call may be on its way on them. */
  readonly keepsIdle: boolean;
};

export type HttpServer = {
  /** Starts to listen, and resolves with the address. Port 0 selects a free one. */
  listen(at: { readonly port: number; readonly host: string }): Promise<AddressInfo>;
  /** Stops listening, calls `onStop`, and waits until every connection has closed. Idempotent. */
  drain(options: DrainOptions, onStop: () => void): Promise<void>;
};

/** Creates the server around a listener. `headers` are for the responses that the server sends by itself. */
export function createServer(
  listener: RequestListener,
  limits: ServerLimits,
  headers: Readonly<Record<string, string>>,
): HttpServer {
  const server = http.createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: Math.min(limits.headersMs, limits.requestMs),
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: Math.min(CHECK_MS, limits.headersMs, limits.requestMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // The application itself refuses requests without `Host`.
      requireHostHeader: false,
    },
    (req, res) => {
      req.url = toOriginForm(req.url);
      // Without a socket, earlier responses of the connection are not sent yet. Rendering waits for them.
      if (res.socket === null) res.once('socket', () => listener(req, res));
      else listener(req, res);
    },
  );
  server.maxConnections = limits.connectionsMax;
  limitConnections(server, limits);
  server.timeout = IDLE_MS;
  // Other expectations are ignored, as HTTP allows. Node would refuse them with a bare 417.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  server.on('checkContinue', (req, res) => {
    // Without a socket, an earlier response is not finished, and Node would write this line into it.
    if (res.socket !== null) res.writeContinue();
    server.emit('request', req, res);
  });
  respondToInvalid(server, limits, headers);

  let drained: Promise<void> | null = null;
  return {
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
    drain(options, onStop) {
      drained ??= close(server, options, onStop);
      return drained;
    },
  };
}

/**
 * Turns the request target into origin form: an absolute URL loses its authority, and any other text becomes
 * an unknown path.
 */
function toOriginForm(url = '/'): string {
  if (url.startsWith('/')) return url;
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}

/**
 * Closes a new connection if its remote address has half of all connections already. Addresses that do not
 * identify a caller (null) are only bounded by the number of all connections.
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
 * Responds to invalid bytes after the last response of their connection, then closes the connection. If the
 * bytes cut a request or a response, the connection is only closed.
 */
function respondToInvalid(
  server: Server,
  limits: ServerLimits,
  headers: Readonly<Record<string, string>>,
): void {
  const lastOf = new WeakMap<Socket, ServerResponse>();
  server.on('request', ({ socket }, res) => lastOf.set(socket, res));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const respond = (): void => {
      if (!socket.writable) socket.destroy();
      else
        socket.end(renderInvalid(buildInvalidProblem(error.code, limits), headers), () => socket.destroy());
    };
    const last = lastOf.get(socket);
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
}

/**
 * Where invalid bytes stand on their connection. `alone`: nothing else waits for a response. `behind`: a
 * complete request waits for its response. `within`: they cut a request or a response.
 */
function classifyPosition(last: ServerResponse | undefined): 'alone' | 'behind' | 'within' {
  if (!last || last.writableFinished) return 'alone';
  if (last.req.complete && (last.writableEnded || !last.headersSent)) return 'behind';
  if (last.headersSent) return 'within';
  // A response gets its socket once the responses before it have been sent.
  return last.socket === null ? 'within' : 'alone';
}

/**
 * Stops listening and closes the connections. A call is lost if its idle connection closes while it is on its
 * way, or if its connection still waits to be accepted, because the kernel resets such connections. With
 * `keepsIdle` both are rare: proxies reuse idle connections, and each closes behind its next response.
 */
async function close(
  server: Server,
  { graceMs, keepsIdle }: DrainOptions,
  onStop: () => void,
): Promise<void> {
  if (!server.listening) return;
  // The close() of node:http would close idle connections too.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  onStop();
  // A connection counts as idle only after its last response has been sent.
  const idle = keepsIdle ? undefined : setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const grace = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
}

function renderInvalid(problem: Problem, common: Readonly<Record<string, string>>): string {
  const { status, body } = describeProblem(problem);
  const headers = {
    ...common,
    Connection: 'close',
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

/** Builds the problem of an invalid request from the code of Node's error. */
function buildInvalidProblem(code: string | undefined, { headersMs, requestMs }: ServerLimits): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('headers_too_large', `The headers are larger than ${HEADER_BYTES_MAX} bytes.`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem(
        'request_timeout',
        `A request must arrive within ${requestMs / 1_000} seconds, its headers within ${headersMs / 1_000}.`,
      );
    default:
      return new Problem('malformed_request', 'The request is not valid HTTP/1.1.');
  }
}
