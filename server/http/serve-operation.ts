/**
 * From a request to the reply of its operation, in one fixed order: the secret in query or header, the
 * body, the secret in the body, `agent_id`, everything else that the document requires, then the gateway.
 * The first failure becomes the response; nothing behind it is looked at.
 */
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import type { LargeWork } from '../async/large-work.ts';
import { renderJson } from '../domain/json-text.ts';
import { isLargeValue } from '../domain/value-size.ts';
import type { Caller } from '../ports/caller.ts';
import type { Log } from '../ports/log.ts';
import type { RenderedBody } from './operations/handlers.ts';
import { Problem, validationFailed } from './problems.ts';
import type { BodyRead, ReadBody } from './request/body.ts';
import type { Operation, OperationId, RequestParts } from './request/contract.ts';
import { validateFields } from './request/field-checks.ts';
import { findExcess, type JsonLimits } from './request/json-limits.ts';
import { parseQuery, type Query } from './request/query.ts';
import {
  isObject,
  readHeader,
  requireBodySecret,
  requireSecret,
  type SentSecrets,
  validateBodySecret,
} from './request/required-secret.ts';
import type { Secrets } from './request/secrets.ts';
import type { WriterDeps } from './response/response-writer.ts';
import { renderShortReply } from './response/send-body.ts';
import { respondInParts } from './response/send-parts.ts';
import { type EventSource, STREAM_HEADERS, type Streams } from './stream/sse.ts';

export type OperationDeps = {
  readonly secrets: Secrets;
  readonly readBody: ReadBody;
  readonly limits: JsonLimits & { readonly bodyBytesMax: number };
  /** Whether agents must send the secret with every call. */
  readonly isAgentAuthRequired: boolean;
  readonly streams: Streams;
  readonly largeWork: LargeWork;
  readonly writers: WriterDeps;
  readonly log: Pick<Log, 'error'>;
  readonly callerOf: (req: IncomingMessage) => Caller;
  /** Fires when the server drains. */
  readonly draining: AbortSignal;
};

/**
 * A handler as it is called here, where the operation is one of many. Its types are checked where it is
 * written.
 */
export type AnyHandler = (call: {
  path: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  header(name: string): string | undefined;
  body: unknown;
  isTrusted: boolean;
  signal(): AbortSignal;
  readonly caller: Caller;
}) => AnyReply | Promise<AnyReply>;

/** Headers of one response, beside those of every response. */
type Headers = Readonly<Record<string, string>>;

type AnyReply =
  | { readonly status: 200; readonly body: object; readonly headers?: Headers }
  | ({ readonly status: 200 } & RenderedBody)
  | { readonly status: 200; readonly events: EventSource }
  | { readonly status: 204 | 304; readonly headers?: Headers };

/** Operations that respond 400 when the body has no `agent_id`, before the schema is looked at. */
const AGENT_ID_FIRST: ReadonlySet<OperationId> = new Set([
  'heartbeatAgent',
  'reportResult',
  'unregisterAgent',
  'claimTask',
]);

/**
 * Values that are stored as they were sent. Their bodies keep their share of the memory until the response;
 * of all others little is left once the fields that the document does not declare are dropped.
 */
const STORED_VALUES: Partial<Record<OperationId, string>> = { submitTask: 'payload', reportResult: 'result' };

type Call = Parameters<AnyHandler>[0];

/** A request that was handled. `release` returns the memory of its body. */
type Handled = { readonly reply: AnyReply; readonly caller: Caller; readonly release: () => void };

/** Sends a success before Koa's middleware; each returns whether it did. */
export type DirectSends = {
  /** A response with this JSON, undefined for one without a body, and these headers of its own. */
  short(text: string | undefined, headers: Headers | undefined): boolean;
  /** Begins a stream; rejects as `Streams.serve` does. */
  stream(events: EventSource): Promise<boolean>;
};

export type ServedOperation = Pick<Operation, 'method' | 'path'> & {
  readonly name: OperationId;
  /**
   * The operation as a route. It throws when the request is refused; see `toProblem`. If the operation was
   * called before, it is not called again.
   */
  readonly middleware: Middleware;
  /**
   * Calls the operation before Koa's middleware, and has a short success or a stream sent. Resolves with
   * false when the middleware is to continue. Never rejects.
   */
  callFirst(request: RequestContext, send: DirectSends): Promise<boolean>;
};

/** The part of Koa's context that an operation needs until its reply is sent. */
type RequestContext = Pick<Context, 'req' | 'res' | 'querystring'> & {
  readonly params?: Readonly<Record<string, string>>;
};

/** Joins an operation of the document with its handler. */
export function serveOperation(
  deps: OperationDeps,
  operation: Operation,
  handler: AnyHandler,
): ServedOperation {
  const { operationId: name, method, path } = operation;
  const calledFirst = new WeakMap<IncomingMessage, Promise<Handled>>();

  async function handle(ctx: RequestContext): Promise<Handled> {
    const { call, release } = await readCall(deps, operation, ctx);
    try {
      return { reply: await handler(call), caller: call.caller, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  return {
    name,
    method: method.toUpperCase(),
    path,
    async middleware(ctx) {
      const first = calledFirst.get(ctx.req);
      // A large reply must not stay in memory for as long as its reader takes.
      calledFirst.delete(ctx.req);
      const { reply, caller, release } = await (first ?? handle(ctx));
      try {
        await respond(deps, ctx, caller, reply);
      } finally {
        release();
      }
    },
    async callFirst(ctx, send) {
      let handling = handle(ctx);
      try {
        const handled = await handling;
        const { reply } = handled;
        const headers = headersOf(reply);
        const body = renderFirst(reply);
        const isSent =
          'events' in reply
            ? await send.stream(reply.events)
            : typeof body !== 'object' && send.short(body, headers);
        if (isSent) {
          handled.release();
          return true;
        }
        if (Buffer.isBuffer(body)) {
          const rendered = { status: 200, rendered: body, ...(headers && { headers }) } as const;
          handling = Promise.resolve({ ...handled, reply: rendered });
        }
      } catch {
        // The middleware throws it again, or has the stream begin again.
      }
      calledFirst.set(ctx.req, handling);
      return false;
    },
  };
}

/**
 * The body of a success: as text when it may be sent at once, as bytes when its reader must be waited for.
 * Undefined without a body, null when it is rendered in another way.
 */
function renderFirst(reply: AnyReply): string | Buffer | undefined | null {
  if (reply.status === 204) return undefined;
  if (reply.status === 304) return null;
  return 'body' in reply && !isLargeValue(reply.body) ? renderShortReply(reply.body) : null;
}

const headersOf = (reply: AnyReply): Headers | undefined => ('headers' in reply ? reply.headers : undefined);

const NO_BODY: BodyRead = { value: undefined, mayGrow: false, isLarge: false, release() {} };

/** Reads and checks the whole request. `release` returns the memory of its body. */
async function readCall(
  deps: OperationDeps,
  operation: Operation,
  ctx: RequestContext,
): Promise<{ call: Call; release: () => void }> {
  const query = parseQuery(ctx.querystring);
  const sent = requireSecret(deps.secrets, operation, query, ctx.req);
  const read = operation.body ? await deps.readBody(ctx) : NO_BODY;
  const stored = STORED_VALUES[operation.operationId];
  try {
    const caller = deps.callerOf(ctx.req);
    const require = () => requireValidCall(deps, operation, ctx, { query, sent, read, caller });
    const call = read.isLarge ? await deps.largeWork.run({ caller, order: 'end' }, require) : require();
    if (stored === undefined) read.release();
    return { call, release: read.release };
  } catch (error) {
    read.release();
    throw error;
  }
}

function requireValidCall(
  deps: OperationDeps,
  operation: Operation,
  ctx: RequestContext,
  { query, sent, read, caller }: { query: Query; sent: SentSecrets; read: BodyRead; caller: Caller },
): Call {
  const { value: body } = read;
  const isTrusted = operation.body !== null && requireBodySecret(deps, operation.body.auth, body, sent);
  if (AGENT_ID_FIRST.has(operation.operationId) && isObject(body) && body.agent_id === undefined) {
    throw new Problem('agent_id_missing', 'The body has no `agent_id`. Send the id of the calling agent.');
  }
  const parts = requireValidParts(operation, { query, sent, read }, ctx, deps.limits);
  const stored = STORED_VALUES[operation.operationId];
  if (read.mayGrow && stored !== undefined) requireStorable(body, stored, deps.limits.bodyBytesMax);
  return {
    path: parts.path,
    query: parts.query,
    header: (name) => readHeader(ctx.req, name),
    body: operation.body ? operation.body.pickDeclared(body) : undefined,
    isTrusted,
    signal: () => createSignal(ctx, deps.draining),
    caller,
  };
}

/** Requires that a value is no longer than a body may be when it is written again. */
function requireStorable(body: unknown, field: string, bytesMax: number): void {
  const value = isObject(body) ? body[field] : undefined;
  if (value === undefined || Buffer.byteLength(JSON.stringify(value)) <= bytesMax) return;
  throw new Problem(
    'payload_too_large',
    `The field \`${field}\` takes more than ${bytesMax} bytes once its numbers are written without exponents (1e20 becomes 21 digits). Send such numbers as text, or fewer of them.`,
  );
}

function requireValidParts(
  operation: Operation,
  { query: rawQuery, sent, read }: { query: Query; sent: SentSecrets; read: BodyRead },
  ctx: RequestContext,
  limits: JsonLimits,
): RequestParts {
  const { query, errors: queryErrors } = operation.readQuery(rawQuery);
  const parts = {
    path: ctx.params ?? {},
    query,
    header: ctx.req.headers,
    ...(operation.body && { requestBody: read.value }),
  };
  const excess = operation.body ? findExcess(read.value, limits) : undefined;
  if (excess) throw validationFailed([excess]);
  const errors = [
    ...queryErrors,
    ...validateBodySecret(operation.body?.auth, read.value, sent),
    ...operation.validate(parts),
    ...validateFields(operation.operationId, parts),
  ].filter(isFirstAtItsPointer);
  if (errors.length > 0) throw validationFailed(errors);
  return parts;
}

/** A parameter that can't be decoded is not reported as missing as well. */
function isFirstAtItsPointer(
  error: { pointer: string },
  index: number,
  all: readonly { pointer: string }[],
): boolean {
  return all.findIndex(({ pointer }) => pointer === error.pointer) === index;
}

async function respond(deps: OperationDeps, ctx: Context, caller: Caller, reply: AnyReply): Promise<void> {
  if ('events' in reply) return await respondWithStream(deps.streams, ctx, reply.events);
  ctx.status = reply.status;
  if (reply.status !== 200) {
    ctx.set({ ...headersOf(reply) });
    return;
  }
  ctx.set({ 'Content-Type': 'application/json', ...headersOf(reply) });
  if ('parts' in reply) return await respondInParts(deps, ctx, caller, reply.parts);
  if ('rendered' in reply) ctx.body = reply.rendered;
  else if (!isLargeValue(reply.body)) ctx.body = renderShortReply(reply.body);
  else ctx.body = await deps.largeWork.run({ caller, order: 'end' }, () => renderJson(reply.body));
}

async function respondWithStream(streams: Streams, ctx: Context, events: EventSource): Promise<void> {
  if (ctx.method === 'HEAD') {
    ctx.set(STREAM_HEADERS);
    ctx.status = 200;
    return;
  }
  ctx.respond = false;
  try {
    await streams.serve(events, ctx.res, STREAM_HEADERS);
  } catch (error) {
    ctx.respond = true;
    throw error;
  }
}

/** A signal that fires when the connection closes or the server drains. */
function createSignal(ctx: RequestContext, draining: AbortSignal): AbortSignal {
  const closed = new AbortController();
  ctx.res.once('close', () => closed.abort('closed'));
  return AbortSignal.any([closed.signal, draining]);
}
