/**
 * The gateway's one middleware of Koa, the way in of every request and its way out. The path alone says who
 * serves it: if it begins with `/api/`, the API does, else the router (pages, documents, probes).
 *
 *   request ──► /api/… ──► serve ────────────────────╮
 *      ╰──────► others ──► router ──► ctx ──► answer ┴──► sender ──► noted once
 *
 * When an answer arrives at the sender, its status and headers are decided; the sender decides only when the
 * connection is closed. Each body is written only as fast as its reader takes it:
 *
 *   a stream ───────────────────────► stream/
 *   parts ──────────────────────────► part by part
 *   its request is still arriving ──► whole, then the connection is closed
 *   long ───────────────────────────► slice by slice
 *   short ──────────────────────────► in one write
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Middleware, Next } from 'koa';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Observer } from '../ports/observer.ts';
import {
  type Answer,
  type Answers,
  type ApiRequest,
  answerMethod,
  type Begun,
  buildReply,
  type EventSource,
  isInParts,
  type Parts,
} from './answers.ts';
import type { CollectBody } from './request/body-collector.ts';
import { createResponseWriter, SLICE_BYTES, type WriterDeps } from './response/response-writer.ts';
import { API_ROOT, type Serve } from './serve.ts';
import type { Streams } from './stream/sse.ts';

type Deps = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  readonly observer: Pick<Observer, 'noteRequest'>;
  readonly answers: Answers;
  readonly serve: Serve;
  readonly collectBody: CollectBody;
  /** The address of a request's caller, for the log. */
  readonly peerOf: (req: IncomingMessage) => string;
  /** Paths that any web page may read, and that are served under every name. */
  readonly openPaths: ReadonlySet<string>;
  readonly limits: { readonly bodyBytesMax: number };
  /** Fires when the server's end is announced. */
  readonly ending: AbortSignal;
  readonly writers: WriterDeps;
  readonly streams: Pick<Streams, 'serve'>;
};

/** How long a response waits for a caller that is still sending, so that it isn't lost in a reset. */
const LINGER_MS = 2_000;

/** Creates the middleware. It never throws. */
export function createMiddleware(deps: Deps): Middleware {
  const { clock, observer, serve, peerOf } = deps;
  return async (ctx, next) => {
    const { req, res } = ctx;
    const startedMs = clock.monotonicMs();
    const url = withoutFragment(req.url ?? '/');
    ctx.respond = false;
    const answer = url.startsWith(API_ROOT)
      ? await serve(describeRequest(deps, req, res, url))
      : await serveRouted(deps, ctx, next);
    const sending = send(deps, res, answer);
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
  { collectBody }: Deps,
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
    left() {
      const closed = new AbortController();
      if (res.closed) closed.abort('closed');
      else res.once('close', () => closed.abort('closed'));
      return closed.signal;
    },
  };
}

/** Has the router serve a page, and takes what it set in the context as its answer. Never rejects. */
async function serveRouted({ answers, openPaths }: Deps, ctx: Context, next: Next): Promise<Answer> {
  const { method } = ctx;
  let first = answers.everywhere;
  const describe = (): Begun => ({ operation: undefined, template: findLayers(ctx)[0]?.path, method, first });
  try {
    first = answers.begin(ctx.req.headers, openPaths.has(ctx.path));
    for (let index = 0; index < first.length; index += 2) {
      ctx.res.setHeader(first[index] ?? '', first[index + 1] ?? '');
    }
    await next();
    if (ctx.status === 404 && ctx.body === undefined) {
      const methods = new Set(findLayers(ctx).flatMap((layer) => layer.methods));
      return answerMethod(describe(), [...methods]);
    }
    return buildReply(describe(), ctx.status, [], ctx.body as string | Buffer | null);
  } catch (error) {
    return answers.fail(describe(), error);
  }
}

type Layer = { readonly path: string; readonly methods: readonly string[] };

/** The routes of the path, also if they do not serve the method. */
function findLayers(ctx: Context): readonly Layer[] {
  return ctx.matched ?? [];
}

/**
 * Writes an answer, its headers behind those that are set already. Returns the answer that was sent when a
 * short one is written and any other has begun; instead of a stream it may be a problem. Never rejects.
 */
function send(deps: Deps, res: ServerResponse, answer: Answer): Answer | Promise<Answer> {
  const { ending, limits } = deps;
  const { req } = res;
  const { body, status, code, headers } = answer;
  if (status === null) res.destroy();
  if (status === null || res.destroyed || res.writableEnded) {
    if (isInParts(body)) body.end();
    return answer;
  }
  if (ending.aborted && (isStream(body) || isInParts(body))) headers.push('Connection', 'close');
  if (isStream(body)) return sendStream(deps, res, body, answer);
  if (isInParts(body)) {
    res.writeHead(status, headers);
    void sendParts(deps, res, body, answer.operation);
    return answer;
  }
  // If the body is late already, it is not waited for.
  const isReadOn = code !== 'request_timeout' && isBodyBounded(req, limits.bodyBytesMax);
  if (ending.aborted || !isReadOn) headers.push('Connection', 'close');
  if (!isReadOn && body === null && req.method !== 'HEAD') headers.push('Content-Length', '0');
  res.writeHead(status, headers);
  if (!isReadOn) void sendBeforeBody(deps, req, res, body);
  else if (body === null) res.end();
  else if (isLong(body)) void sendSlices(deps, res, body);
  else res.end(body);
  return answer;
}

/** Whether a body takes more than one slice, and so is counted while it waits for its reader. */
export function isLong(body: string | Buffer): boolean {
  // A character takes three bytes at most.
  return body.length * 3 > SLICE_BYTES && Buffer.byteLength(body) > SLICE_BYTES;
}

function isStream(body: Answer['body']): body is EventSource {
  return typeof body === 'object' && body !== null && 'open' in body;
}

async function sendStream(
  deps: Deps,
  res: ServerResponse,
  events: EventSource,
  answer: Answer,
): Promise<Answer> {
  try {
    await deps.streams.serve(events, res, answer.headers);
    return answer;
  } catch (error) {
    if (!answer.refuse) throw error;
    return await send(deps, res, answer.refuse(error));
  }
}

/** Whether the rest of the body is small enough to be discarded, so that the connection can be kept. */
function isBodyBounded({ complete, headers }: IncomingMessage, bodyBytesMax: number): boolean {
  if (complete) return true;
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= bodyBytesMax;
}

/** Writes the whole body as fast as its reader takes it. Never rejects. */
async function sendSlices({ writers }: Deps, res: ServerResponse, body: string | Buffer): Promise<void> {
  await createResponseWriter(res, writers).write(typeof body === 'string' ? Buffer.from(body) : body);
  res.end();
}

/**
 * Sends the response, discards what still arrives for a moment, then closes the connection. Never rejects.
 */
async function sendBeforeBody(
  { clock, writers }: Deps,
  req: IncomingMessage,
  res: ServerResponse,
  body: string | Buffer | null,
): Promise<void> {
  res.flushHeaders();
  if (body !== null && body.length > 0) await createResponseWriter(res, writers).write(Buffer.from(body));
  const ended = new AbortController();
  for (const event of ['end', 'close', 'error']) req.once(event, () => ended.abort('ended'));
  res.once('close', () => ended.abort('ended'));
  req.resume();
  await clock.sleep(LINGER_MS, ended.signal);
  res.end();
}

/**
 * Writes parts until there are no more or the reader is gone. An error behind the first part is logged and
 * ends the connection: half a body must not look like a whole one. Never rejects.
 */
async function sendParts(
  { writers, log }: Deps,
  res: ServerResponse,
  parts: Parts,
  operation: string | undefined,
): Promise<void> {
  const writer = createResponseWriter(res, writers);
  try {
    await writer.write(Buffer.from(parts.first));
    while (!writer.signal.aborted) {
      const part = await parts.next();
      if (part.done) break;
      await writer.write(Buffer.from(part.value));
    }
    res.end();
  } catch (error) {
    log.error({ err: error, operation }, 'a response was cut off behind its first part');
    res.destroy();
  } finally {
    parts.end();
  }
}
