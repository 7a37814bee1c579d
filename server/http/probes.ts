/**
 * The pages of the process: two probes, liveness (the process runs) and readiness (calls can succeed), and
 * the metrics.
 */
import type { Context, Middleware } from 'koa';
import type { Gateway } from '../ports/gateway.ts';
import type { OutageKind } from '../ports/store.ts';
import type { RequireHost } from './host-rule.ts';
import { RETRY_AFTER_SECONDS } from './problems.ts';
import { hasAdminSecret, requireAdminSecret, type Secrets } from './request/secrets.ts';

/** The paths of liveness and readiness. Every web page may read them, under any host name. */
export const PROBE_PATHS = ['/livez', '/readyz'] as const;

/**
 * Creates the probes. `/livez` is 200 as long as the process responds. `/readyz` is 503, with a general
 * reason, while calls would fail. A warning keeps it 200: calls succeed, so load balancers must not take the
 * gateway out.
 */
export function createProbes(
  gateway: Pick<Gateway, 'health'>,
  ending: AbortSignal,
): { readonly live: Middleware; readonly ready: Middleware } {
  return {
    live: (ctx) => {
      respondJson(ctx, 200, { status: 'ok' });
    },
    ready: (ctx) => {
      const health = gateway.health();
      if (health.ok && !ending.aborted) {
        respondJson(ctx, 200, { status: 'ok', warning: health.warning });
        return;
      }
      ctx.set('Retry-After', String(RETRY_AFTER_SECONDS.store_unavailable));
      const reason = health.ok || ending.aborted ? 'draining' : REASONS[health.outage.kind];
      respondJson(ctx, 503, { status: 'unavailable', reason });
    },
  };
}

function respondJson(ctx: Context, status: number, body: object): void {
  ctx.status = status;
  ctx.set({ 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*' });
  ctx.body = JSON.stringify(body);
}

/** The reasons that everybody may read. The store's own message is only logged. */
export const REASONS: Readonly<Record<OutageKind, string>> = {
  silent: 'The store does not reply.',
  full: 'The store is full.',
  disk_fails: 'The disk of the store fails.',
  file_moved: 'The file of the store was moved or removed.',
  takes_no_writes: 'The store takes no writes.',
  damaged: 'The store is damaged.',
  wrong_settings: 'The store and the settings of the gateway do not fit together.',
  emptied: 'The store was emptied or replaced: it does not hold what was accepted before.',
  starting: 'The store is starting.',
  closed: 'The store is closed.',
};

type MetricsPageDeps = {
  readonly secrets: Secrets;
  /** Whether no secret is needed. */
  readonly isPublic: boolean;
  /** Checks the host of a call that needs no secret and has none. */
  readonly requireHost: RequireHost;
  /** Renders the present metrics. It limits how long that takes and how often it happens. */
  readonly render: () => Promise<{ readonly contentType: string; readonly text: string }>;
};

/**
 * Creates `/metrics`: the metrics as Prometheus text, for the administrator. If `isPublic`, every caller
 * under a known name may read them. Throws a 401 for a missing or wrong secret.
 */
export function createMetricsRoute({ secrets, isPublic, requireHost, render }: MetricsPageDeps): Middleware {
  return async (ctx) => {
    const { headers } = ctx.req;
    if (!isPublic) requireAdminSecret(secrets, headers);
    else if (!hasAdminSecret(secrets, headers)) requireHost(headers);
    const { contentType, text } = await render();
    ctx.set('Content-Type', contentType);
    ctx.body = Buffer.from(text);
  };
}
