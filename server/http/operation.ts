/**
 * From a request to the answer of its operation, in one fixed order: secret in query or header, body, secret in the
 * body, `agent_id`, everything else the document says of the request, then the gateway. What fails first is answered;
 * nothing behind it is looked at.
 */
import type { Context, Middleware } from 'koa';
import type { EventSource } from './operations/handlers.ts';
import { Problem, validationFailed } from './problems.ts';
import type { ReadBody } from './request/body.ts';
import type { Operation, OperationId, Parts } from './request/contract.ts';
import { findExcess, type JsonLimits } from './request/json-limits.ts';
import { parseQuery, type Query } from './request/query.ts';
import type { Secrets } from './request/secrets.ts';
import type { Streams } from './stream/sse.ts';

export type OperationDeps = {
  readonly secrets: Secrets;
  readonly readBody: ReadBody;
  readonly limits: JsonLimits;
  /** Whether agents must send the secret with every call (§5.6). */
  readonly isAgentAuthRequired: boolean;
  readonly streams: Streams;
  /** Fires when the server drains. */
  readonly draining: AbortSignal;
};

/** A handler as it is called here, where the operation is one of many. Its types were checked where it was written. */
export type AnyHandler = (call: {
  path: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  header(name: string): string | undefined;
  body: unknown;
  isTrusted: boolean;
  signal(): AbortSignal;
}) => AnyReply | Promise<AnyReply>;

type AnyReply =
  | { readonly status: 200; readonly body: unknown }
  | { readonly status: 200; readonly events: EventSource }
  | { readonly status: 204 };

/** Calls of an agent that are answered 400 when they don't say which (§4.7). */
const AGENT_ID_FIRST: ReadonlySet<OperationId> = new Set([
  'heartbeatAgent',
  'reportResult',
  'unregisterAgent',
  'claimTask',
]);

/** Builds the middleware of an operation. It throws whatever the request is refused with. */
export function serveOperation(deps: OperationDeps, operation: Operation, handler: AnyHandler): Middleware {
  return async (ctx) => {
    const given = parseQuery(ctx.querystring);
    requireSecret(deps.secrets, operation, given, ctx);
    const body = operation.body ? await deps.readBody(ctx) : undefined;
    const isTrusted = operation.body !== null && requireBodySecret(deps, operation.body.auth, body);
    if (AGENT_ID_FIRST.has(operation.operationId) && isObject(body) && body.agent_id === undefined) {
      throw new Problem('agent_id_missing', 'The body has no `agent_id`. Say which agent calls.');
    }
    const parts = requireValidParts(operation, given, body, ctx, deps.limits);
    const reply = await handler({
      path: parts.path,
      query: parts.query,
      header: (name) => headerOf(ctx, name),
      body,
      isTrusted,
      signal: () => signalOf(ctx, deps.draining),
    });
    await answer(deps.streams, ctx, reply);
  };
}

/** A secret in the query counts wherever it is sent; the header is looked at only where it has a place. */
function requireSecret(secrets: Secrets, { secret }: Operation, query: Query, ctx: Context): void {
  if (secret === 'admin') {
    if (!secrets.isAdminSecret(headerOf(ctx, 'X-Admin-Auth'))) {
      throw unauthorized('Send the administrator’s secret in the header X-Admin-Auth.', 'X-Admin-Auth');
    }
    return;
  }
  const inQuery = query.get('auth');
  const bearer = inQuery || secret === 'body' ? undefined : bearerOf(ctx);
  if (inQuery) {
    // A repeated secret is not a right one.
    if (inQuery.length === 1 && secrets.isGatewaySecret(inQuery[0])) return;
    throw unauthorized('The query parameter `auth` is not the gateway secret.');
  }
  if (bearer === undefined && secret !== 'required') return;
  if (bearer === undefined) {
    throw unauthorized('Send the gateway secret as query parameter `auth` or as Authorization: Bearer.');
  }
  if (!secrets.isGatewaySecret(bearer)) {
    throw unauthorized('The Authorization header does not carry the gateway secret.');
  }
}

/** Whether the body carries the secret. One that is there must be right; whether it must be there is the schema's. */
function requireBodySecret(
  { secrets, isAgentAuthRequired }: OperationDeps,
  auth: 'required' | 'optional',
  body: unknown,
): boolean {
  const given = isObject(body) ? body.auth : undefined;
  if (secrets.isGatewaySecret(given)) return true;
  if (typeof given === 'string') throw unauthorized('The field `auth` is not the gateway secret.');
  if (auth === 'optional' && isAgentAuthRequired) {
    throw unauthorized('Send the gateway secret in the field `auth`: this gateway asks agents for it.');
  }
  return false;
}

function unauthorized(detail: string, scheme = 'Bearer'): Problem {
  return new Problem('unauthorized', detail, { headers: { 'WWW-Authenticate': scheme } });
}

function requireValidParts(
  operation: Operation,
  given: Query,
  body: unknown,
  ctx: Context,
  limits: JsonLimits,
): Parts {
  const { query, errors: queryErrors } = operation.readQuery(given);
  const parts = {
    path: ctx.params ?? {},
    query,
    header: ctx.req.headers,
    ...(operation.body && { requestBody: body }),
  };
  const excess = operation.body ? findExcess(body, limits) : undefined;
  if (excess) throw validationFailed([excess]);
  const errors = [...queryErrors, ...operation.check(parts)].filter(isFirstOfItsPlace);
  if (errors.length > 0) throw validationFailed(errors);
  return parts;
}

/** What can't be read is not said to be missing as well. */
function isFirstOfItsPlace(
  error: { pointer: string },
  index: number,
  all: readonly { pointer: string }[],
): boolean {
  return all.findIndex(({ pointer }) => pointer === error.pointer) === index;
}

async function answer(streams: Streams, ctx: Context, reply: AnyReply): Promise<void> {
  if ('events' in reply) return await answerStream(streams, ctx, reply.events);
  ctx.status = reply.status;
  if (!('body' in reply)) return;
  ctx.set('Content-Type', 'application/json');
  ctx.body = JSON.stringify(reply.body);
}

async function answerStream(streams: Streams, ctx: Context, events: EventSource): Promise<void> {
  if (ctx.method === 'HEAD') {
    ctx.set('Content-Type', 'text/event-stream');
    ctx.status = 200;
    return;
  }
  ctx.respond = false;
  try {
    await streams.serve(events, ctx.res);
  } catch (error) {
    ctx.respond = true;
    throw error;
  }
}

/** Fires when the connection closes or the server drains. */
function signalOf(ctx: Context, draining: AbortSignal): AbortSignal {
  const left = new AbortController();
  ctx.res.once('close', () => left.abort('left'));
  return AbortSignal.any([left.signal, draining]);
}

function headerOf(ctx: Context, name: string): string | undefined {
  const value = ctx.req.headers[name.toLowerCase()];
  return Array.isArray(value) ? value.join(', ') : value;
}

function bearerOf(ctx: Context): string | undefined {
  return /^bearer +(.*)$/i.exec(ctx.req.headers.authorization ?? '')?.[1];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
