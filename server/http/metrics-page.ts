/** `/metrics`: the metrics as Prometheus text, for the administrator or, if that is set, for every caller. */
import type { Middleware } from 'koa';
import { requireAdminSecret } from './request/required-secret.ts';
import type { Secrets } from './request/secrets.ts';

type MetricsPageDeps = {
  readonly secrets: Secrets;
  /** Whether no secret is needed. */
  readonly isPublic: boolean;
  /** Renders the metrics of this moment; bounded in time and in how often it does so. */
  readonly render: () => Promise<{ readonly contentType: string; readonly text: string }>;
};

/** Creates the middleware. It throws a 401 for a missing or wrong secret. */
export function createMetricsPage({ secrets, isPublic, render }: MetricsPageDeps): Middleware {
  return async (ctx) => {
    if (!isPublic) requireAdminSecret(secrets, ctx.req.headers);
    const { contentType, text } = await render();
    ctx.set('Content-Type', contentType);
    ctx.body = Buffer.from(text);
  };
}
