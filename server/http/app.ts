/**
 * The gateway as a Koa application, without a socket: `http.ts` serves it, the simulator calls it in process.
 * A request passes these middlewares in this order:
 *
 *   observe → headers → problems → host → cors → 304 → readers ─┬─► operations of the documents (`api.ts`)
 *                                                               ├─► pages, probes, metrics
 *                                                               ╰─► OPTIONS, 405, 404
 */
import type { ServerResponse } from 'node:http';
import Koa, { type Context, type Middleware } from 'koa';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Observer } from '../ports/observer.ts';
import { type ApiDeps, registerOperations } from './api.ts';
import { type CorsOrigins, createCors } from './cors.ts';
import type { HostRule } from './host-rule.ts';
import { Router } from './node-http.ts';
import { CallerGone, describeProblem, Problem, toProblem } from './problems.ts';
import { createRemoteAddresses } from './remote-address.ts';
import { matchesTag } from './response/entity-tag.ts';

/** A page beside the operations. */
export type Page = {
  readonly path: string;
  readonly middleware: Middleware;
  /** Whether any web page may read it, under any host name. */
  readonly isOpen?: boolean;
};

export type AppDeps = Omit<ApiDeps, 'requireHost'> & {
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: Pick<Observer, 'noteRequest'>;
  readonly hostRule: HostRule;
  readonly pages: readonly Page[];
  readonly corsOrigins: CorsOrigins;
  /** Networks of proxies that name the caller in `X-Forwarded-For` or `Forwarded`. */
  readonly trustedProxies: readonly string[];
};

/** Puts the application together. Throws if an operation of the document has no handler. */
export function createApp(deps: AppDeps): Koa {
  const { contract, pages, log, hostRule, readers, draining } = deps;
  // Two routers, because a router looks at all its routes for each request.
  const [operationRouter, pageRouter] = [createRouter(), createRouter()];
  registerOperations(operationRouter, { ...deps, requireHost: hostRule.withoutSecret });
  for (const { path, middleware } of pages) pageRouter.get(path, middleware);
  const openPaths = new Set(pages.flatMap(({ path, isOpen }) => (isOpen ? [path] : [])));

  const app = new Koa();
  app.on('error', (error, ctx) => noteCutResponse(log, error, ctx));
  app.use(observe(deps));
  app.use(setHeaders(describeHeaders(contract.version), draining));
  app.use(turnErrorsIntoProblems(log));
  app.use(requireHost(hostRule, openPaths));
  app.use(createCors(deps.corsOrigins, openPaths));
  app.use(omitKnownBodies);
  if (readers) app.use(readers.bound);
  app.use(operationRouter.routes());
  app.use(pageRouter.routes());
  app.use(answerOtherMethods);
  return app;
}

/** Paths are case-sensitive, and a slash at the end makes a difference. */
const createRouter = () => new Router({ sensitive: true, strict: true });

/** Notes each request once its response is decided, for the log and the metrics. */
function observe({ clock, observer, trustedProxies }: AppDeps): Middleware {
  const { peerOf } = createRemoteAddresses(trustedProxies);
  return async (ctx, next) => {
    const startedMs = clock.monotonicMs();
    await next();
    const { code } = ctx.state;
    observer.noteRequest({
      operation: ctx.routerName,
      method: ctx.method,
      path: ctx.matched?.[0]?.path,
      status: code === 'caller_left' ? null : ctx.status,
      code,
      ms: clock.monotonicMs() - startedMs,
      peer: () => peerOf(ctx.req),
    });
  };
}

export function describeHeaders(version: string): Readonly<Record<string, string>> {
  return {
    'Task-Gateway-Version': version,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  };
}

function setHeaders(headers: Readonly<Record<string, string>>, draining: AbortSignal): Middleware {
  const entries = Object.entries(headers);
  return async (ctx, next) => {
    for (const [name, value] of entries) ctx.res.setHeader(name, value);
    await next();
    if (draining.aborted) ctx.set('Connection', 'close');
  };
}

/** Responds with the problem for an error. The cause of an unexpected error is logged. */
function turnErrorsIntoProblems(log: Pick<Log, 'error'>): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      if (error instanceof CallerGone) {
        ctx.state.code = 'caller_left';
        await cutOff(ctx.res, error);
        return;
      }
      const problem = toProblem(error);
      if (problem.code === 'internal') {
        const operation = ctx.routerName;
        log.error({ operation, detail: problem.message, error: problem.cause }, 'a request failed');
      }
      const { status, headers, body } = describeProblem(problem);
      ctx.state.code = problem.code;
      ctx.status = status;
      ctx.set({ 'Content-Type': 'application/problem+json', ...headers });
      ctx.body = body;
    }
  };
}

/** Destroys the connection, and resolves once the response has closed. */
async function cutOff(res: ServerResponse, error: Error): Promise<void> {
  if (res.destroyed) return;
  const closed = new Promise<void>((resolve) => res.once('close', resolve));
  res.destroy(error);
  await closed;
}

/** Refuses a call under an unknown name or origin while the secret is the public default. */
function requireHost({ ofEveryCall }: HostRule, openPaths: ReadonlySet<string>): Middleware {
  return (ctx, next) => {
    requireOneHost(ctx);
    if (!openPaths.has(ctx.path)) ofEveryCall(ctx.req.headers);
    return next();
  };
}

/**
 * Requires exactly one `Host`; in HTTP/1.0 it may be missing. If there were two, a proxy might use one and
 * the gateway the other.
 */
function requireOneHost({ req: { headers, httpVersion, rawHeaders } }: Context): void {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  if (count === 1 || (headers.host === undefined && httpVersion !== '1.1')) return;
  throw new Problem('malformed_request', 'The request is not valid HTTP/1.1.', {
    headers: { Connection: 'close' },
  });
}

/**
 * Responds 304 to a caller that has the body already. `ctx.fresh` cannot be used: it ignores the tag of
 * browsers, which send `Cache-Control: no-cache` with an `If-None-Match` that a page sets.
 */
const omitKnownBodies: Middleware = async (ctx, next) => {
  await next();
  if (ctx.status !== 200 || !ctx.res.hasHeader('ETag')) return;
  if (!matchesTag(ctx.get('If-None-Match'), ctx.response.get('ETag'))) return;
  ctx.status = 304;
  ctx.body = null;
};

/**
 * Responds to OPTIONS with the methods of the path. Throws a 405 with these methods, or a 404 if there are
 * none.
 */
const answerOtherMethods: Middleware = (ctx) => {
  const layers: readonly { readonly methods: readonly string[] }[] = ctx.matched ?? [];
  const methods = new Set(layers.flatMap((layer) => layer.methods));
  if (methods.size === 0) {
    throw new Problem(
      'route_not_found',
      'There is nothing at this path. The paths are listed at /openapi.json and /openapi.admin.json.',
    );
  }
  const allow = [...methods, 'OPTIONS'].join(', ');
  if (ctx.method !== 'OPTIONS') {
    throw new Problem('method_not_allowed', `This path serves ${allow}.`, { headers: { Allow: allow } });
  }
  ctx.set('Allow', allow);
  ctx.status = 204;
};

/** Logs a response that was cut. Koa has ended the connection, so that half a body does not look whole. */
function noteCutResponse(log: Log, error: NodeJS.ErrnoException, ctx: Context | undefined): void {
  const fields = { err: error, operation: ctx?.routerName };
  const hasLeft = error instanceof CallerGone || error.code === 'ERR_STREAM_PREMATURE_CLOSE';
  if (hasLeft || error.code === 'ECONNRESET' || error.code === 'EPIPE')
    log.debug(fields, 'a reader has left');
  else log.error(fields, 'a response was cut off behind its first part');
}
