/**
 * Short successes and streams are sent without Koa: most requests are calls of an operation that end in the
 * one, and of the other nothing is kept that Koa has made for it. So an operation is called first, and its
 * reply sent with one `writeHead` when it is ready. Everything else goes Koa's whole way, where the operation
 * continues with what it has done:
 *
 *   request ──► an operation? ──► called ──► a short success, a stream ───► sent
 *                 ╰── no ──╮        ╰── thrown, large ──╮
 *                          ╰──► Koa: boundary ──► router ──► operation ──► sent
 *
 * Koa's way go also requests with an `Origin`, HEAD, OPTIONS, and all while the server drains. A caller
 * sees no difference: the headers of both ways are the same, in the same order and spelling.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type Koa from 'koa';
import type { Clock } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import { describeHeaders, isBodyBounded } from './boundary.ts';
import type { RequireHost } from './host-rule.ts';
import type { DirectSends, ServedOperation } from './serve-operation.ts';
import { STREAM_HEADERS, type Streams } from './stream/sse.ts';

type Deps = {
  readonly app: Koa;
  readonly operations: readonly ServedOperation[];
  readonly version: string;
  readonly limits: { readonly bodyBytesMax: number };
  readonly requireHost: RequireHost;
  readonly streams: Pick<Streams, 'serve'>;
  readonly clock: Clock;
  readonly observer: Pick<Observer, 'noteRequest'>;
  /** The address of a request's caller, for the log. */
  readonly peerOf: (req: IncomingMessage) => string;
  /** Fires when the server drains. */
  readonly draining: AbortSignal;
  /** When requests began that Koa's middleware gets later than that. */
  readonly startedMs: WeakMap<IncomingMessage, number>;
};

/** The operation of a request, the parameters in its path, and its query. */
type Match = {
  readonly operation: ServedOperation;
  readonly params: Readonly<Record<string, string>>;
  readonly querystring: string;
};

/** Creates the listener of all requests. */
export function createListener(deps: Deps): RequestListener {
  const { app, draining, clock, observer, peerOf, limits, streams } = deps;
  const serveByKoa = app.callback();
  const findOperation = createFinder(deps);
  const headers = Object.entries(describeHeaders(deps.version)).flat();
  const jsonHeaders = [...headers, 'Content-Type', 'application/json', 'Content-Length'];
  const streamHeaders = Object.entries({ ...describeHeaders(deps.version), ...STREAM_HEADERS }).flat();

  /** Sends a reply, unless something has come up that Koa's way responds to otherwise. */
  function createSends(req: IncomingMessage, res: ServerResponse): DirectSends {
    const isPossible = (): boolean =>
      !draining.aborted && !res.destroyed && isBodyBounded(req, limits.bodyBytesMax);
    return {
      short(text, own) {
        if (!isPossible()) return false;
        if (text === undefined) res.writeHead(204, headers).end();
        else {
          const all = [...jsonHeaders, String(Buffer.byteLength(text))];
          if (own) all.push(...Object.entries(own).flat());
          res.writeHead(200, all).end(text);
        }
        return true;
      },
      async stream(events) {
        if (!isPossible()) return false;
        await streams.serve(events, res, streamHeaders);
        return true;
      },
    };
  }

  async function serveDirectly(
    { operation, params, querystring }: Match,
    req: IncomingMessage,
    res: ServerResponse,
  ): Promise<void> {
    const startedMs = clock.monotonicMs();
    if (await operation.callFirst({ req, res, params, querystring }, createSends(req, res))) {
      const ms = clock.monotonicMs() - startedMs;
      const { name, method, path } = operation;
      const status = res.statusCode;
      observer.noteRequest({
        operation: name,
        method,
        path,
        status,
        code: undefined,
        ms,
        peer: () => peerOf(req),
      });
      return;
    }
    deps.startedMs.set(req, startedMs);
    await serveByKoa(req, res);
  }

  return (req, res) => {
    const isPlain = req.headers.origin === undefined && !draining.aborted;
    const match = isPlain ? findOperation(req) : null;
    if (match) void serveDirectly(match, req, res);
    else void serveByKoa(req, res);
  };
}

/** If a URL has one of these, the router decides what to do with it. */
const UNUSUAL = /[#\s]/;
/** Paths that end in a parameter: `/api/cli/tasks/:request_id`. */
const ENDS_IN_PARAMETER = /^([^:]*\/):(\w+)$/;

/**
 * Creates what finds the operation of a request; null for what is left to the router, and for what is
 * refused.
 */
function createFinder({ operations, requireHost }: Deps): (req: IncomingMessage) => Match | null {
  const fixed = new Map<string, Omit<Match, 'querystring'>>();
  const ending = new Map<string, { readonly operation: ServedOperation; readonly parameter: string }>();
  for (const operation of operations) {
    const [, start, parameter] = ENDS_IN_PARAMETER.exec(operation.path) ?? [];
    if (start !== undefined && parameter !== undefined) {
      ending.set(`${operation.method} ${start}`, { operation, parameter });
    } else if (!operation.path.includes(':')) {
      fixed.set(`${operation.method} ${operation.path}`, { operation, params: {} });
    }
  }

  function findByStart(target: string): Omit<Match, 'querystring'> | undefined {
    const from = target.lastIndexOf('/') + 1;
    const found = ending.get(target.slice(0, from));
    const value = target.slice(from);
    // If a part is escaped, the router decodes it.
    if (!found || value === '' || value.includes('%')) return undefined;
    return { operation: found.operation, params: { [found.parameter]: value } };
  }

  return (req) => {
    const { method = '', url = '' } = req;
    const end = url.indexOf('?');
    const target = `${method} ${end < 0 ? url : url.slice(0, end)}`;
    const match = fixed.get(target) ?? findByStart(target);
    if (!match || UNUSUAL.test(url)) return null;
    try {
      requireHost(req);
      return { ...match, querystring: end < 0 ? '' : url.slice(end + 1) };
    } catch {
      return null;
    }
  };
}
