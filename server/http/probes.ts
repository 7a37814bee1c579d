/** The pages, and the answers for probes: does the process live, can calls succeed now. */
import type { Context, Middleware } from 'koa';
import type { Gateway } from '../ports/gateway.ts';
import type { Page } from './pages.ts';

/** Every 503 says when to ask again; this one as soon as a call that finds the store out. */
const RETRY_AFTER_SECONDS = '2';

/** Serves a page; a caller that kept it of its own accord and names it is told that it is still the same. */
export function servePage(page: Page): Middleware {
  return (ctx) => {
    ctx.set({
      'Content-Type': page.contentType,
      'Access-Control-Allow-Origin': '*',
      ETag: page.etag,
    });
    if (ctx.get('If-None-Match').includes(page.etag)) ctx.status = 304;
    else ctx.body = page.body;
  };
}

/** `/livez` is 200 as long as the process answers; `/readyz` is 503, with the reason, while calls would fail. */
export function createProbes(
  gateway: Pick<Gateway, 'health'>,
  draining: AbortSignal,
): { readonly live: Middleware; readonly ready: Middleware } {
  return {
    live: (ctx) => {
      answerJson(ctx, 200, { status: 'ok' });
    },
    ready: (ctx) => {
      const health = draining.aborted ? { ok: false as const, reason: 'draining' } : gateway.health();
      if (health.ok) answerJson(ctx, 200, { status: 'ok' });
      else {
        ctx.set('Retry-After', RETRY_AFTER_SECONDS);
        answerJson(ctx, 503, { status: 'unavailable', reason: health.reason });
      }
    },
  };
}

function answerJson(ctx: Context, status: number, body: object): void {
  ctx.status = status;
  ctx.set('Content-Type', 'application/json');
  ctx.body = JSON.stringify(body);
}
