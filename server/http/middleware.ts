/**
 * Koa's one middleware, the way in of every request and its way out. The path alone says who serves it: if
 * it begins with `/api/`, the API does, else the router (pages, documents, probes).
 *
 *   request ──► /api/… ──► serve ────────────────────╮
 *      ╰──────► others ──► router ──► ctx ──► answer ┴──► sender ──► noted once
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Middleware, Next } from 'koa';
import type { Caller } from '../ports/caller.ts';
import type { Clock } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import { type Answer, type Answers, type ApiRequest, answerMethod } from './answers.ts';
import type { CollectBody } from './request/body-collector.ts';
import type { SendAnswer } from './response/sender.ts';
import { API_ROOT, type Serve } from './serve.ts';

type Deps = {
  readonly clock: Clock;
  readonly observer: Pick<Observer, 'noteRequest'>;
  readonly answers: Answers;
  readonly serve: Serve;
  readonly send: SendAnswer;
  readonly collectBody: CollectBody;
  readonly callerOf: (req: IncomingMessage) => Caller;
  /** The address of a request's caller, for the log. */
  readonly peerOf: (req: IncomingMessage) => string;
  /** Paths that any web page may read, and that are served under every name. */
  readonly openPaths: ReadonlySet<string>;
};

/** Creates the middleware. It never throws. */
export function createMiddleware(deps: Deps): Middleware {
  const { clock, observer, serve, send, peerOf } = deps;
  return async (ctx, next) => {
    const { req, res } = ctx;
    const startedMs = clock.monotonicMs();
    const url = withoutFragment(req.url ?? '/');
    ctx.respond = false;
    const answer = url.startsWith(API_ROOT)
      ? await serve(describeRequest(deps, req, res, url))
      : await servePage(deps, ctx, next);
    const sending = send(req, res, answer);
    const { operation, template, status, code } = sending instanceof Promise ? await sending : sending;
    observer.noteRequest({
      operation,
      method: req.method ?? '',
      path: template,
      status,
      code,
      ms: clock.monotonicMs() - startedMs,
      peer: () => peerOf(req),
    });
  };
}

/** If a URL has a fragment, which no request should send, it is ignored. */
function withoutFragment(url: string): string {
  const at = url.indexOf('#');
  return at < 0 ? url : url.slice(0, at);
}

function describeRequest(
  { collectBody, callerOf }: Deps,
  req: IncomingMessage,
  res: ServerResponse,
  url: string,
): ApiRequest {
  const end = url.indexOf('?');
  return {
    method: req.method ?? '',
    path: end < 0 ? url : url.slice(0, end),
    query: end < 0 ? '' : url.slice(end + 1),
    headers: req.headers,
    readBody: (declaredBytes) => collectBody(req, declaredBytes),
    caller: callerOf(req),
    left() {
      const closed = new AbortController();
      res.once('close', () => closed.abort('closed'));
      return closed.signal;
    },
  };
}

/** Has the router serve a page, and takes what it set in the context as its answer. Never rejects. */
async function servePage({ answers, openPaths }: Deps, ctx: Context, next: Next): Promise<Answer> {
  const { method } = ctx;
  let begun = answers.everywhere;
  try {
    begun = answers.begin(ctx.req.headers, openPaths.has(ctx.path));
    for (let index = 0; index < begun.length; index += 2) {
      ctx.res.setHeader(begun[index] ?? '', begun[index + 1] ?? '');
    }
    await next();
    const template = findLayers(ctx)[0]?.path;
    if (ctx.status === 404 && ctx.body === undefined) {
      const methods = new Set(findLayers(ctx).flatMap((layer) => layer.methods));
      return answerMethod(method, begun, [...methods], template);
    }
    const body = method === 'HEAD' ? null : (ctx.body as string | Buffer | null);
    return {
      kind: 'reply',
      operation: undefined,
      template,
      status: ctx.status,
      code: undefined,
      headers: [],
      body,
    };
  } catch (error) {
    const route = { operation: undefined, template: findLayers(ctx)[0]?.path };
    return answers.fail(method, begun, route, error);
  }
}

type Layer = { readonly path: string; readonly methods: readonly string[] };

/** The routes of the path, also if they do not serve the method. */
function findLayers(ctx: Context): readonly Layer[] {
  return ctx.matched ?? [];
}
