/**
 * The one place where an answer leaves: the headers every answer has, problems for whatever was thrown, paths and
 * methods nobody serves, and what becomes of a body that nobody read.
 */
import type { Context, Middleware, Next } from 'koa';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { allowOrigin, type CorsOrigins, describePreflight } from './cors.ts';
import { describeProblem, Problem, toProblem } from './problems.ts';
import { CallerLeft } from './request/body.ts';

type Deps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly limits: { readonly bodyBytesMax: number };
  readonly settings: { readonly corsOrigins: CorsOrigins };
  /** Paths any web page may read. */
  readonly openPaths: ReadonlySet<string>;
  /** Fires when the server drains. */
  readonly draining: AbortSignal;
};

/** How long an answer waits for a sender that is still sending, so that it isn't lost in a reset. */
const LINGER_MS = 2_000;

/** The headers of every answer. */
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
  const { clock, log } = deps;
  const headers = Object.entries(describeHeaders(deps.version));
  return async (ctx, next) => {
    const startedMs = clock.monotonicMs();
    for (const [name, value] of headers) ctx.res.setHeader(name, value);
    const { origin } = ctx.req.headers;
    if (origin !== undefined) {
      ctx.set(allowOrigin(deps.openPaths.has(ctx.path) ? ['*'] : deps.settings.corsOrigins, origin));
    }
    const code = await runMiddleware(deps, ctx, next);
    if (deps.draining.aborted && !ctx.headerSent) ctx.set('Connection', 'close');
    if (ctx.respond !== false && !isBodyBounded(ctx, deps.limits.bodyBytesMax))
      await answerBeforeBody(clock, ctx);
    const ms = clock.monotonicMs() - startedMs;
    log.debug({ operation: ctx._matchedRouteName, status: ctx.res.statusCode, code, ms }, 'answered');
  };
}

/** Runs what is inside; turns what it throws into the answer. Says the problem's code, if it came to one. */
async function runMiddleware({ log }: Deps, ctx: Context, next: Next): Promise<string | undefined> {
  try {
    await next();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof CallerLeft || ctx.headerSent) {
      ctx.respond = false;
      ctx.res.destroy();
      return 'caller_left';
    }
    const problem = toProblem(thrown);
    if (problem.code === 'internal') {
      log.error(
        { operation: ctx._matchedRouteName, told: problem.message, error: problem.cause },
        'a request failed',
      );
    }
    const { status, headers, body } = describeProblem(problem);
    ctx.status = status;
    ctx.set({ ...headers, 'Content-Type': 'application/problem+json' });
    ctx.body = body;
    return problem.code;
  }
}

/** Answers what no route serves: 404, or 405 with what the path does serve, or a browser's question before a call. */
export function createFallback(): Middleware {
  return (ctx) => {
    const layers: readonly { readonly methods: readonly string[] }[] = ctx.matched ?? [];
    if (layers.length === 0) {
      throw new Problem(
        'route_not_found',
        'There is nothing at this path. The paths are listed at /openapi.json.',
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

/** Whether what is still to come of the body is so little that it can be read over and the connection kept. */
function isBodyBounded({ req }: Context, bodyBytesMax: number): boolean {
  if (req.complete || req.headers['transfer-encoding'] === undefined) {
    return req.complete || Number(req.headers['content-length'] ?? 0) <= bodyBytesMax;
  }
  return false;
}

/** Sends the answer, then reads over what still comes for a moment, then closes the connection. */
async function answerBeforeBody(clock: Clock, ctx: Context): Promise<void> {
  const { req, res } = ctx;
  ctx.respond = false;
  const body = Buffer.isBuffer(ctx.body)
    ? ctx.body
    : Buffer.from(typeof ctx.body === 'string' ? ctx.body : '');
  res.setHeader('Connection', 'close');
  res.setHeader('Content-Length', body.length);
  res.flushHeaders();
  res.write(body);
  const over = new AbortController();
  for (const event of ['end', 'close', 'error']) req.once(event, () => over.abort('over'));
  res.once('close', () => over.abort('over'));
  req.resume();
  await clock.sleep(LINGER_MS, over.signal);
  res.end();
}
