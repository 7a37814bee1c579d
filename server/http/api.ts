/**
 * Registers the operations of the document as routes. Each request is checked in one order. The first failure
 * is the response, and nothing behind it is checked:
 *
 *   secret in query or header → body → secret in the body → agent_id → all that the document requires
 *   → handler
 */
import { Readable } from 'node:stream';
import type { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';
import type { LargeWork } from '../async/large-work.ts';
import { yieldToEventLoop } from '../async/waiting.ts';
import { renderJson, writeJson } from '../domain/json-text.ts';
import { isObject } from '../domain/json-value.ts';
import { isLargeValue } from '../domain/value-size.ts';
import type { Clock } from '../ports/clock.ts';
import type { Gateway } from '../ports/gateway.ts';
import type { RequireHost } from './host-rule.ts';
import { createAdminHandlers } from './operations/admin.ts';
import { type AgentHandlerSettings, createAgentHandlers } from './operations/agents.ts';
import { createClientHandlers } from './operations/clients.ts';
import type { Handlers } from './operations/handlers.ts';
import { createOutputHandlers, type OutputLimits } from './operations/output.ts';
import { type FieldError, Problem, validationFailed } from './problems.ts';
import { type BodyLimits, createBodyReader, requireStorable } from './request/body.ts';
import {
  type Contract,
  type Operation,
  type OperationId,
  parseQuery,
  type RequestParts,
} from './request/contract.ts';
import { validateFields } from './request/field-checks.ts';
import { findExcess, type JsonLimits } from './request/json-limits.ts';
import {
  readHeader,
  requireBodySecret,
  requireSecret,
  type Secrets,
  validateBodySecret,
} from './request/secrets.ts';
import { signalLeft } from './response/left.ts';
import type { Readers } from './response/readers.ts';
import type { StreamLimits } from './stream/admission.ts';
import type { EventSource } from './stream/event-frames.ts';
import type { Streams } from './stream/sse.ts';

export type ApiLimits = JsonLimits &
  BodyLimits &
  OutputLimits &
  StreamLimits & {
    readonly bodyBytesMax: number;
    /** The largest body of `writeOutput`. */
    readonly outputBodyBytesMax: number;
  };

/** The limits of the contract that do not depend on a socket. */
export const API_LIMITS: ApiLimits = {
  bodyBytesMax: 1024 * 1024,
  bodiesBytesMax: 64 * 1024 * 1024,
  largeBodyMs: 5_000,
  outputBodyBytesMax: 64 * 1024,
  outputWritingBytesMax: 8 * 1024 * 1024,
  depthMax: 100,
  keysMax: 20_000,
  partsMax: 20_000,
  streamsMax: 20_000,
  streamsOfOneMax: 100,
};

/** Hooks around the operations, with which the simulator makes them fail. */
export type Surroundings = {
  /** Runs an operation by `next`, or fails in its place. */
  readonly call: (operation: OperationId, ctx: Context, next: () => Promise<void>) => Promise<void>;
  readonly events: (operation: OperationId, source: EventSource) => EventSource;
};

export type ApiDeps = {
  readonly contract: Contract;
  readonly gateway: Gateway;
  readonly secrets: Secrets;
  readonly limits: ApiLimits;
  readonly settings: AgentHandlerSettings & {
    /** Whether heartbeat, report and unregister must carry the secret. */
    readonly isAgentAuthRequired: boolean;
  };
  readonly clock: Clock;
  readonly largeWork: LargeWork;
  readonly streams: Streams;
  /** Counts the bytes that readers have not taken. */
  readonly readers?: Readers;
  readonly requireHost: RequireHost;
  /** Fires when the server drains. */
  readonly draining: AbortSignal;
  readonly surroundings?: Surroundings;
};

/** Operations whose missing `agent_id` is a 400, reported before the schema is checked. */
const AGENT_ID_FIRST: ReadonlySet<OperationId> = new Set([
  'heartbeatAgent',
  'reportResult',
  'unregisterAgent',
  'claimTask',
  'writeOutput',
  'claimAnswer',
]);

/**
 * Fields that are stored as they were sent. A body with such a field counts until the response. Of other
 * bodies little is left once undeclared fields are dropped.
 */
const STORED_VALUES: Partial<Record<OperationId, string>> = {
  submitTask: 'payload',
  reportResult: 'result',
  writeOutput: 'pieces',
  answerTask: 'answer',
};

/**
 * The type of a handler where the operation is not known. Its exact types are checked where it is defined.
 */
type AnyHandler = (call: {
  path: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  header(name: string): string | undefined;
  body: unknown;
  isTrusted: boolean;
  signal(): AbortSignal;
}) => AnyReply | Promise<AnyReply>;

type AnyReply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** At most one of these four is set. */
  readonly body?: object;
  readonly rendered?: Buffer;
  readonly parts?: AsyncIterable<string>;
  readonly events?: EventSource;
};

/** Registers every operation. Throws if an operation has no handler. */
export function registerOperations(router: Router, deps: ApiDeps): void {
  const { contract, gateway, settings, limits, surroundings } = deps;
  const handlers: Handlers = {
    ...createClientHandlers(gateway),
    ...createAgentHandlers(gateway, settings),
    ...createOutputHandlers(gateway, limits),
    ...createAdminHandlers(gateway, contract.version),
  };
  const readBody = createBodyReader(deps);
  for (const operation of contract.operations) {
    const { operationId: name, method, path } = operation;
    const handler = handlers[name] as AnyHandler | undefined;
    if (!handler) throw new Error(`The document has an operation without a handler: ${name}.`);
    const ownMax = name === 'writeOutput' ? limits.outputBodyBytesMax : Number.POSITIVE_INFINITY;
    const bytesMax = Math.min(limits.bodyBytesMax, ownMax);
    const chain: Middleware[] = [
      ...(surroundings ? [surround(surroundings, name)] : []),
      checkSecret(deps, operation),
      ...(operation.body ? [readBody(bytesMax), checkBodySecret(deps, operation.body.auth)] : []),
      ...(AGENT_ID_FIRST.has(name) ? [checkAgentId] : []),
      checkRequest(deps, operation, bytesMax),
      callHandler(deps, operation, handler),
    ];
    // Composed once, because the router would compose the chain at each call.
    router.register(path, [method], compose(chain), { name });
  }
}

function surround({ call }: Surroundings, name: OperationId): Middleware {
  return (ctx, next) => call(name, ctx, next);
}

function checkSecret({ secrets }: ApiDeps, operation: Operation): Middleware {
  return (ctx, next) => {
    ctx.state.query = parseQuery(ctx.querystring);
    ctx.state.sent = requireSecret(secrets, operation, ctx.state.query, ctx.req.headers);
    return next();
  };
}

function checkBodySecret(deps: ApiDeps, rule: NonNullable<Operation['body']>['auth']): Middleware {
  const { secrets, requireHost, settings } = deps;
  const rules = { secrets, isAgentAuthRequired: settings.isAgentAuthRequired };
  return (ctx, next) => {
    ctx.state.isTrusted = requireBodySecret(rules, rule, ctx.request.body, ctx.state.sent);
    if (!ctx.state.isTrusted && rule === 'optional') requireHost(ctx.req.headers);
    return next();
  };
}

const checkAgentId: Middleware = (ctx, next) => {
  const { body } = ctx.request;
  if (isObject(body) && body.agent_id === undefined) {
    throw new Problem('agent_id_missing', 'The body has no `agent_id`. Send the id of the calling agent.');
  }
  return next();
};

/** Each pass over a large body is a piece of the large work. */
function checkRequest({ limits, largeWork }: ApiDeps, operation: Operation, bytesMax: number): Middleware {
  const stored = STORED_VALUES[operation.operationId];
  const check = (ctx: Context): void => {
    ctx.state.parts = requireValid(operation, ctx, limits);
    if (stored !== undefined && ctx.state.mayGrow) requireStorable(ctx.request.body, stored, bytesMax);
  };
  return async (ctx, next) => {
    if (ctx.state.isLarge) await largeWork.run(() => check(ctx));
    else check(ctx);
    if (stored === undefined) ctx.state.releaseBody?.();
    await next();
  };
}

/** Returns the parts of a valid request; throws a 422 that lists all errors. */
function requireValid(operation: Operation, ctx: Context, limits: JsonLimits): RequestParts {
  const { query, errors: queryErrors } = operation.readQuery(ctx.state.query);
  const { body } = ctx.request;
  const parts = {
    path: ctx.params,
    query,
    header: ctx.req.headers,
    ...(operation.body && { requestBody: body }),
  };
  const excess = operation.body ? findExcess(body, limits) : undefined;
  if (excess) throw validationFailed([excess]);
  const errors = keepFirst([
    ...queryErrors,
    ...validateBodySecret(operation.body?.auth, body, ctx.state.sent),
    ...operation.validate(parts),
    ...validateFields(operation.operationId, parts),
  ]);
  if (errors.length > 0) throw validationFailed(errors);
  return parts;
}

/** Keeps one error for each place: a parameter that cannot be decoded is not reported as missing too. */
function keepFirst(errors: readonly FieldError[]): readonly FieldError[] {
  const byPointer = new Map<string, FieldError>();
  for (const error of errors) if (!byPointer.has(error.pointer)) byPointer.set(error.pointer, error);
  return [...byPointer.values()];
}

function callHandler(deps: ApiDeps, operation: Operation, handler: AnyHandler): Middleware {
  const { streams, draining, largeWork, surroundings } = deps;
  return async (ctx) => {
    const { path, query } = ctx.state.parts;
    const reply = await handler({
      path,
      query,
      header: (name) => readHeader(ctx.req.headers, name),
      body: operation.body?.pickDeclared(ctx.request.body),
      isTrusted: ctx.state.isTrusted ?? false,
      signal: () => AbortSignal.any([signalLeft(ctx.res), draining]),
    });
    const { status, headers, body = {}, rendered, parts, events } = reply;
    if (events) {
      await streams.serve(ctx, surroundings?.events(operation.operationId, events) ?? events);
      return;
    }
    ctx.status = status;
    if (headers) ctx.set(headers);
    if (status !== 200) {
      ctx.body = null;
      return;
    }
    ctx.set('Content-Type', 'application/json');
    if (parts) ctx.body = await streamParts(parts);
    else if (rendered) ctx.body = rendered;
    else if (isLargeValue(body)) ctx.body = await largeWork.run(() => renderJson(body));
    else ctx.body = writeJson(body);
  };
}

/** Rendering this many characters takes about a millisecond; then other work runs. */
const PART_CHARS = 131_072;

/**
 * Joins pieces to parts of a body, which its reader takes at its own pace. Memory holds two parts, however
 * long the body is. A body that fits into one part is returned whole. Rejects if the first part cannot be
 * rendered.
 */
async function streamParts(pieces: AsyncIterable<string>): Promise<Readable | string> {
  const parts = joinShort(pieces);
  const { value: first = '' } = await parts.next();
  if (first.length < PART_CHARS) return first;
  return Readable.from(
    (async function* () {
      yield first;
      yield* parts;
    })(),
  );
}

async function* joinShort(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  let part = '';
  for await (const piece of pieces) {
    part += piece;
    if (part.length < PART_CHARS) continue;
    yield part;
    part = '';
    await yieldToEventLoop();
  }
  if (part !== '') yield part;
}
