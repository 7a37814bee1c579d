/** Which web pages may call. Off unless configured; a browser is told nothing then, and refuses by itself. */

/** Origins that may call, or `*` for all; empty: none. */
export type CorsOrigins = '*' | readonly string[];

/** The headers that let a page of this origin read the answer; none when it may not. */
export function allowOrigin(allowed: CorsOrigins, origin: string | undefined): Record<string, string> {
  if (origin === undefined || allowed.length === 0) return {};
  if (allowed !== '*' && !allowed.includes(origin)) return { Vary: 'Origin' };
  return {
    'Access-Control-Allow-Origin': allowed === '*' ? '*' : origin,
    'Access-Control-Expose-Headers': 'Task-Gateway-Version, Retry-After',
    ...(allowed !== '*' && { Vary: 'Origin' }),
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
