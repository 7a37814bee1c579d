/**
 * The one place where responses are completed: the headers that every response has, problems for errors that
 * were thrown, paths and methods that are not served, and request bodies that were not read.
 */
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware, Next } from 'koa';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Observer } from '../ports/observer.ts';
import { allowOrigin, type CorsOrigins, describePreflight } from './cors.ts';
import type { RequireHost } from './host-rule.ts';
import { describeProblem, Problem, toProblem } from './problems.ts';
import { CallerGone } from './request/counted-body.ts';
import type { WriterDeps } from './response/response-writer.ts';
import { isLargeBody, sendBody } from './response/send-body.ts';

type Deps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: Pick<Observer, 'noteRequest'>;
  /** The address of a request's caller, for the log. */
  readonly peerOf: (req: IncomingMessage) => string;
  readonly version: string;
  readonly limits: { readonly bodyBytesMax: number };
  readonly settings: { readonly corsOrigins: CorsOrigins };
  /** Paths that any web page may read, and that are served under every name. */
  readonly openPaths: ReadonlySet<string>;
  /** Fires when the server drains. */
  readonly draining: AbortSignal;
  readonly writers: WriterDeps;
  readonly requireHost: RequireHost;
  /** When a request began that was called before; see `direct-responses.ts`. */
  readonly startedMs: WeakMap<IncomingMessage, number>;
};

/** How long a response waits for a caller that is still sending, so that it isn't lost in a reset. */
const LINGER_MS = 2_000;

/** The headers of every response. */
export function describeHeaders(version: string): Record<string, string> {
  return {
    'Task-Gateway-Version': version,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  };
}

/** Creates the outermost middleware. It never throws. */
export function createBoundary(deps: Deps): Middleware {
  const { clock } = deps;
  const headers = Object.entries(describeHeaders(deps.version));
  return async (ctx, next) => {
    const startedMs = deps.startedMs.get(ctx.req) ?? clock.monotonicMs();
    for (const [name, value] of headers) ctx.res.setHeader(name, value);
    const code = await runMiddleware(deps, ctx, next);
    if (deps.draining.aborted && !ctx.headerSent) ctx.set('Connection', 'close');
    if (ctx.respond !== false) {
      // If the body is late already, it is not waited for.
      const isReadOn = code !== 'request_timeout' && isBodyBounded(ctx.req, deps.limits.bodyBytesMax);
      if (!isReadOn) await respondBeforeBody(deps, ctx);
      else if (ctx.method !== 'HEAD' && isLargeBody(ctx.body)) void respondInSlices(deps, ctx, ctx.body);
    }
    deps.observer.noteRequest({
      operation: ctx._matchedRouteName,
      method: ctx.method,
      path: findTemplate(ctx),
      status: code === 'caller_left' ? null : ctx.res.statusCode,
      code,
      ms: clock.monotonicMs() - startedMs,
      peer: () => deps.peerOf(ctx.req),
    });
  };
}

/** The path as it is registered, also for a method that it does not serve. */
function findTemplate(ctx: Context): string | undefined {
  const layers: readonly { readonly path: unknown }[] = ctx.matched ?? [];
  const path = layers[0]?.path;
  return typeof path === 'string' ? path : undefined;
}

/**
 * Runs the inner middleware and turns what it throws into a response. Returns the code of the problem, if
 * any.
 */
async function runMiddleware(deps: Deps, ctx: Context, next: Next): Promise<string | undefined> {
  const { log } = deps;
  try {
    const isOpen = deps.openPaths.has(ctx.path);
    if (!isOpen) deps.requireHost(ctx.req);
    const { origin } = ctx.req.headers;
    if (origin !== undefined) ctx.set(allowOrigin(isOpen ? ['*'] : deps.settings.corsOrigins, origin));
    await next();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof CallerGone || ctx.headerSent) {
      ctx.respond = false;
      ctx.res.destroy();
      return 'caller_left';
    }
    const problem = toProblem(thrown);
    if (problem.code === 'internal') {
      log.error(
        { operation: ctx._matchedRouteName, detail: problem.message, error: problem.cause },
        'a request failed',
      );
    }
    const { status, headers, body } = describeProblem(problem);
    ctx.status = status;
    ctx.set({ ...headers, 'Content-Type': 'application/problem+json' });
    // A read is refused as busy after a wait; requests behind it on its connection would wait as long.
    if (problem.code === 'busy' && ctx.method === 'GET') ctx.set('Connection', 'close');
    ctx.body = body;
    return problem.code;
  }
}

/**
 * Responds to what no route serves: 404, 405 with the methods of the path, or 204 to OPTIONS (a browser's
 * preflight).
 */
export function createFallback(): Middleware {
  return (ctx) => {
    const layers: readonly { readonly methods: readonly string[] }[] = ctx.matched ?? [];
    if (layers.length === 0) {
      throw new Problem(
        'route_not_found',
        'There is nothing at this path. The paths are listed at /openapi.json and /openapi.admin.json.',
      );
    }
    const allow = [...new Set(layers.flatMap(({ methods }) => methods)), 'OPTIONS'].join(', ');
    if (ctx.method !== 'OPTIONS') {
      throw new Problem('method_not_allowed', `This path serves ${allow}.`, { headers: { Allow: allow } });
    }
    ctx.status = 204;
    ctx.set('Allow', allow);
    if (ctx.res.hasHeader('Access-Control-Allow-Origin')) ctx.set(describePreflight(allow));
  };
}

/** Whether the rest of the body is small enough to be discarded, so that the connection can be kept. */
export function isBodyBounded(req: IncomingMessage, bodyBytesMax: number): boolean {
  if (req.complete || req.headers['transfer-encoding'] === undefined) {
    return req.complete || Number(req.headers['content-length'] ?? 0) <= bodyBytesMax;
  }
  return false;
}

/** Sends a large response as fast as its reader takes it. Never rejects. */
async function respondInSlices({ writers }: Deps, ctx: Context, body: Buffer): Promise<void> {
  ctx.respond = false;
  await sendBody(ctx.res, body, writers);
  ctx.res.end();
}

/** Sends the response, discards what still arrives for a moment, then closes the connection. */
async function respondBeforeBody({ clock, writers }: Deps, ctx: Context): Promise<void> {
  const { req, res } = ctx;
  ctx.respond = false;
  const body = Buffer.isBuffer(ctx.body)
    ? ctx.body
    : Buffer.from(typeof ctx.body === 'string' ? ctx.body : '');
  res.setHeader('Connection', 'close');
  res.setHeader('Content-Length', body.length);
  res.flushHeaders();
  if (body.length > 0) await sendBody(res, body, writers);
  const ended = new AbortController();
  for (const event of ['end', 'close', 'error']) req.once(event, () => ended.abort('ended'));
  res.once('close', () => ended.abort('ended'));
  req.resume();
  await clock.sleep(LINGER_MS, ended.signal);
  res.end();
}
