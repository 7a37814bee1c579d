/** Which web pages may call. Off unless configured; a browser is told nothing then, and refuses by itself. */

/** Origins that may call; `*` among them: all; empty: none. */
export type CorsOrigins = readonly string[];

/** The headers that let a page of this origin read the answer; none when it may not. */
export function allowOrigin(allowed: CorsOrigins, origin: string): Record<string, string> {
  if (allowed.length === 0) return {};
  const isAll = allowed.includes('*');
  // Which origin is told differs from caller to caller, and a cache must know.
  const vary = isAll ? {} : { Vary: 'Origin' };
  if (!isAll && !allowed.includes(origin)) return vary;
  return {
    'Access-Control-Allow-Origin': isAll ? '*' : origin,
    'Access-Control-Expose-Headers': 'Task-Gateway-Version, Retry-After',
    ...vary,
  };
}

/** What a preflight is answered besides, once its origin is allowed. */
export function describePreflight(methods: string): Record<string, string> {
  return {
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers':
      'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Admin-Auth, If-None-Match',
    'Access-Control-Max-Age': '600',
  };
}
