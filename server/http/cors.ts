/** Which web pages may call. Off by default: without these headers a browser refuses to read the response. */

/** Origins that may call. A `*` among them allows all; an empty list allows none. */
export type CorsOrigins = readonly string[];

/** The headers that let a page of this origin read the response; none when it may not. */
export function allowOrigin(allowed: CorsOrigins, origin: string): Record<string, string> {
  if (allowed.length === 0) return {};
  const isAll = allowed.includes('*');
  // The allowed origin differs from caller to caller, and a cache must know that.
  const vary = isAll ? {} : { Vary: 'Origin' };
  if (!isAll && !allowed.includes(origin)) return vary;
  return {
    'Access-Control-Allow-Origin': isAll ? '*' : origin,
    'Access-Control-Expose-Headers': 'Task-Gateway-Version, Retry-After, ETag',
    ...vary,
  };
}

/** The further headers of the response to a preflight whose origin is allowed. */
export function describePreflight(methods: string): Record<string, string> {
  return {
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers':
      'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Admin-Auth, If-None-Match, traceparent, tracestate',
    'Access-Control-Max-Age': '600',
  };
}
