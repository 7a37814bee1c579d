/** Which web pages may read responses: those of the configured origins, and any page what is open to all. */
import cors from '@koa/cors';
import type { Middleware } from 'koa';

/** Origins that may call. A `*` among them allows all; an empty list allows none. */
export type CorsOrigins = readonly string[];

/** Creates the middleware. Off by default: without its headers a browser refuses to read a response. */
export function createCors(origins: CorsOrigins, openPaths: ReadonlySet<string>): Middleware {
  const isAll = origins.includes('*');
  const answer = cors({
    origin(ctx) {
      if (isAll || openPaths.has(ctx.path)) return '*';
      const origin = ctx.get('Origin');
      return origins.includes(origin) ? origin : '';
    },
    allowMethods: 'HEAD, GET, POST, OPTIONS',
    allowHeaders:
      'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Admin-Auth, If-None-Match, traceparent, tracestate',
    exposeHeaders: 'Task-Gateway-Version, Retry-After, ETag, Task-Outcome',
    maxAge: 600,
    keepHeadersOnError: false,
  });
  // It adds `Vary: Origin` to every response, also where that says nothing.
  return (ctx, next) => {
    const isAsked = ctx.req.headers.origin !== undefined && (origins.length > 0 || openPaths.has(ctx.path));
    return isAsked ? answer(ctx, next) : next();
  };
}
