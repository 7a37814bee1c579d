/**
 * The node:http server with every limit set: sizes and times of headers and requests, connections, and an answer for
 * what is no HTTP at all. It is started once and ended once.
 */
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describeProblem, Problem } from './problems.ts';

const HEADER_BYTES_MAX = 16 * 1024;
/** How often it is looked for requests that take too long. */
const CHECK_MS = 1_000;
/** Longer than the pause between two heartbeats, so that an agent keeps its connection. */
const KEEP_ALIVE_MS = 20_000;
const IDLE_CHECK_MS = 20;
/** A connection on which nothing moves is closed: longer than the longest poll and the longest pause between pings. */
const STILL_MS = 300_000;

export type ServerLimits = {
  readonly connectionsMax: number;
  /** Time for the headers of a request, from its first byte. */
  readonly headersMs: number;
  /** Time for the whole of a request, its body included. */
  readonly requestMs: number;
};

export type HttpServer = {
  listen(at: { readonly port: number; readonly host: string }): Promise<AddressInfo>;
  /** Stops listening, says so, and waits for the connections; after the grace it closes what is left. */
  drain(graceMs: number, onStop: () => void): Promise<void>;
};

/** Creates the server around a listener; the headers go with the answers it gives by itself. */
export function createServer(
  listener: RequestListener,
  limits: ServerLimits,
  headers: Readonly<Record<string, string>>,
): HttpServer {
  // Who is being answered: a broken request behind it on the same connection must not be answered into it.
  const answering = new WeakMap<Socket, ServerResponse>();
  const server = http.createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: Math.min(CHECK_MS, limits.headersMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Judged below: by itself Node would answer without the headers and the body every answer has.
      requireHostHeader: false,
    },
    (req, res) => {
      answering.set(req.socket, res);
      if (req.httpVersion === '1.1' && req.headers.host === undefined) {
        answerBroken(res, classifyBroken(undefined, limits), headers);
        return;
      }
      req.url = toOrigin(req);
      listener(req, res);
    },
  );
  server.maxConnections = limits.connectionsMax;
  server.timeout = STILL_MS;
  // What else a caller expects is ignored, as HTTP allows; Node by itself would refuse it with a bare 417.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  server.on('checkContinue', (req, res) => {
    // Before its turn among several on a connection, Node would write this line into the answer, behind its headers.
    // Without the line it closes after the answer, since nobody knows whether the body will come.
    if (res.socket !== null) res.writeContinue();
    server.emit('request', req, res);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const tell = (): void => {
      if (!socket.writable) socket.destroy();
      else socket.end(describeBroken(classifyBroken(error.code, limits), headers), () => socket.destroy());
    };
    const last = answering.get(socket);
    switch (classifyPosition(last)) {
      case 'its own':
        return error.code === 'ECONNRESET' ? socket.destroy() : tell();
      case 'behind':
        socket.pause();
        last?.once('close', tell);
        return;
      case 'within':
        socket.destroy();
    }
  });

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
    drain(graceMs, onStop) {
      drained ??= close(server, graceMs, onStop);
      return drained;
    },
  };
}

/**
 * Where on its connection what is broken stands, by the last answer that was asked for there: it is the only thing to
 * answer, it stands behind a whole request that has its answer still to come, or an answer is cut off by it.
 */
function classifyPosition(last: ServerResponse | undefined): 'its own' | 'behind' | 'within' {
  if (!last || last.writableFinished) return 'its own';
  if (last.req.complete && (last.writableEnded || !last.headersSent)) return 'behind';
  if (last.headersSent) return 'within';
  // Until the answers before it have gone out, an answer has no socket.
  return last.socket === null ? 'within' : 'its own';
}

/** The target as origin form: a proxy's absolute form loses its authority, anything else is a path nobody serves. */
function toOrigin({ url = '/' }: IncomingMessage): string {
  if (url.startsWith('/')) return url;
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}

async function close(server: http.Server, graceMs: number, onStop: () => void): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  onStop();
  // A connection whose last answer has just gone out is idle only now.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const grace = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
}

function describeBroken(problem: Problem, headers: Readonly<Record<string, string>>): string {
  const { status, body } = describeProblem(problem);
  const lines = Object.entries({
    ...headers,
    Connection: 'close',
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

function answerBroken(
  res: ServerResponse,
  problem: Problem,
  headers: Readonly<Record<string, string>>,
): void {
  const { status, body } = describeProblem(problem);
  res.writeHead(status, {
    ...headers,
    Connection: 'close',
    'Content-Type': 'application/problem+json',
    'Content-Length': Buffer.byteLength(body),
  });
  res.end(body);
}

function classifyBroken(code: string | undefined, { headersMs, requestMs }: ServerLimits): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('headers_too_large', `The headers are larger than ${HEADER_BYTES_MAX} bytes.`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem(
        'request_timeout',
        `A request must arrive within ${requestMs / 1_000} seconds, its headers within ${headersMs / 1_000}.`,
      );
    default:
      return new Problem('malformed_request', 'This is not HTTP/1.1 as it should be.');
  }
}
