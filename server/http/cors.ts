/**
 * Which web pages may read responses: pages of the configured origins, and any page where the path is open to
 * all.
 */
import cors from '@koa/cors';
import type { Middleware } from 'koa';

/** Origins that may call. A `*` among them allows all; an empty list allows none. */
export type CorsOrigins = readonly string[];

/**
 * Creates the middleware. Without configured origins it adds nothing, and browsers refuse to read a response.
 */
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
  // `cors` would add `Vary: Origin` to every response, so it runs only where the origin matters.
  return (ctx, next) => {
    const isAsked = ctx.req.headers.origin !== undefined && (origins.length > 0 || openPaths.has(ctx.path));
    return isAsked ? answer(ctx, next) : next();
  };
}
