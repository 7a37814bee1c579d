/**
 * From a request to the answer of its operation, in one fixed order: the secret in query or header, the
 * body, the secret in the body, `agent_id`, everything else that the document requires, then the gateway.
 * The first failure becomes the response; nothing behind it is looked at.
 */
import type { LargeWork } from '../async/large-work.ts';
import { yieldToEventLoop } from '../async/waiting.ts';
import { renderJson, writeJson } from '../domain/json-text.ts';
import { isObject } from '../domain/json-value.ts';
import { isLargeValue } from '../domain/value-size.ts';
import {
  type Answer,
  type Answers,
  type ApiRequest,
  addHeaders,
  type Begun,
  buildReply,
  type EventSource,
  type HeaderList,
  type Headers,
  type Parts,
} from './answers.ts';
import { type FieldError, Problem, validationFailed } from './problems.ts';
import { type BodyRead, NO_BODY, readJsonBody, requireStorable } from './request/body.ts';
import {
  type Operation,
  type OperationId,
  parseQuery,
  type Query,
  type RequestParts,
} from './request/contract.ts';
import { validateFields } from './request/field-checks.ts';
import { findExcess, type JsonLimits } from './request/json-limits.ts';
import {
  readHeader,
  requireBodySecret,
  requireSecret,
  type Secrets,
  type SentSecrets,
  validateBodySecret,
} from './request/secrets.ts';

export type OperationDeps = {
  readonly secrets: Secrets;
  readonly limits: JsonLimits & {
    readonly bodyBytesMax: number;
    /** Of `writeOutput`. */
    readonly outputBodyBytesMax: number;
  };
  /** Whether agents must send the secret with every call. */
  readonly isAgentAuthRequired: boolean;
  readonly largeWork: LargeWork;
  readonly answers: Answers;
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
}) => AnyReply | Promise<AnyReply>;

type AnyReply =
  | { readonly status: 200; readonly body: object; readonly headers?: Headers }
  | { readonly status: 200; readonly rendered: Buffer; readonly headers?: Headers }
  | { readonly status: 200; readonly parts: AsyncIterable<string>; readonly headers?: Headers }
  | { readonly status: 200; readonly events: EventSource }
  | { readonly status: 204 | 304; readonly headers?: Headers };

/** Operations that respond 400 when the body has no `agent_id`, before the schema is looked at. */
const AGENT_ID_FIRST: ReadonlySet<OperationId> = new Set([
  'heartbeatAgent',
  'reportResult',
  'unregisterAgent',
  'claimTask',
  'writeOutput',
  'claimAnswer',
]);

/**
 * Values that are stored as they were sent. Their bodies keep their share of the memory until the response;
 * of all others little is left once the fields that the document does not declare are dropped.
 */
const STORED_VALUES: Partial<Record<OperationId, string>> = {
  submitTask: 'payload',
  reportResult: 'result',
  writeOutput: 'pieces',
  answerTask: 'answer',
};

type Call = Parameters<AnyHandler>[0];
type Params = Readonly<Record<string, string>>;

export type ServedOperation = Pick<Operation, 'method' | 'path'> & {
  readonly name: OperationId;
  /**
   * Calls the operation with these parameters of its path; `first`: the headers that the answer begins with.
   * When the request is refused or the call fails, the answer is a problem. Never rejects.
   */
  answer(request: ApiRequest, params: Params, first: HeaderList): Promise<Answer>;
};

/** Joins an operation of the document with its handler. */
export function serveOperation(
  deps: OperationDeps,
  operation: Operation,
  handler: AnyHandler,
): ServedOperation {
  const { operationId: name, method, path } = operation;
  const { secrets, limits, largeWork, answers } = deps;
  const isStored = STORED_VALUES[name] !== undefined;
  const bodyBytesMax = Math.min(
    limits.bodyBytesMax,
    name === 'writeOutput' ? limits.outputBodyBytesMax : Infinity,
  );

  return {
    name,
    method: method.toUpperCase(),
    path,
    async answer(request, params, first) {
      const begun = { operation: name, template: path, method: request.method, first };
      let read = NO_BODY;
      try {
        const query = parseQuery(request.query);
        const sent = requireSecret(secrets, operation, query, request.headers);
        if (operation.body) read = await readJsonBody(request, bodyBytesMax, largeWork);
        const parsed = { params, query, sent, read, bodyBytesMax };
        const call = read.isLarge
          ? await largeWork.run(() => requireValidCall(deps, operation, request, parsed))
          : requireValidCall(deps, operation, request, parsed);
        if (!isStored) read.release();
        const reply = await handler(call);
        return 'body' in reply && !isLargeValue(reply.body)
          ? answerWhole(begun, writeJson(reply.body), undefined, reply.headers)
          : await answerOther(deps, begun, reply);
      } catch (error) {
        return answers.fail(begun, error);
      } finally {
        read.release();
      }
    },
  };
}

/**
 * An answer with a whole body. An `ETag` stands before its length, the trace and the outcome of a task behind
 * it.
 */
function answerWhole(begun: Begun, body: string | Buffer, before?: Headers, behind?: Headers): Answer {
  const headers = [...begun.first, 'Content-Type', 'application/json'];
  if (before) addHeaders(headers, before);
  headers.push('Content-Length', String(Buffer.byteLength(body)));
  if (behind) addHeaders(headers, behind);
  return buildReply(begun, 200, headers, body);
}

/** The headers of a stream, also of the response to HEAD. */
const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** An answer that is not rendered at once: without a body, a large value, parts or a stream. */
async function answerOther(
  { answers, largeWork }: OperationDeps,
  begun: Begun,
  reply: AnyReply,
): Promise<Answer> {
  if ('events' in reply) {
    const headers = addHeaders([...begun.first], STREAM_HEADERS);
    return buildReply(begun, 200, headers, reply.events, (error) => answers.fail(begun, error));
  }
  if (reply.status !== 200) {
    return buildReply(begun, reply.status, addHeaders([...begun.first], reply.headers), null);
  }
  if ('rendered' in reply) return answerWhole(begun, reply.rendered, reply.headers);
  if ('body' in reply) {
    const body = await largeWork.run(() => renderJson(reply.body));
    return answerWhole(begun, body, undefined, reply.headers);
  }
  const body = await renderParts(reply.parts);
  if (typeof body === 'string') return answerWhole(begun, body, reply.headers);
  const headers = addHeaders([...begun.first, 'Content-Type', 'application/json'], reply.headers);
  return buildReply(begun, 200, headers, body);
}

/** The parts of a request when it has been read and before it is checked. */
type Parsed = {
  readonly params: Params;
  readonly query: Query;
  readonly sent: SentSecrets;
  readonly read: BodyRead;
  readonly bodyBytesMax: number;
};

function requireValidCall(
  deps: OperationDeps,
  operation: Operation,
  request: ApiRequest,
  parsed: Parsed,
): Call {
  const { sent, read, bodyBytesMax } = parsed;
  const { value: body } = read;
  const isTrusted = operation.body !== null && requireBodySecret(deps, operation.body.auth, body, sent);
  if (!isTrusted && operation.body?.auth === 'optional') deps.answers.requireHost(request.headers);
  if (AGENT_ID_FIRST.has(operation.operationId) && isObject(body) && body.agent_id === undefined) {
    throw new Problem('agent_id_missing', 'The body has no `agent_id`. Send the id of the calling agent.');
  }
  const parts = requireValidParts(operation, parsed, request.headers, deps.limits);
  const stored = STORED_VALUES[operation.operationId];
  if (read.mayGrow && stored !== undefined) requireStorable(body, stored, bodyBytesMax);
  return {
    path: parts.path,
    query: parts.query,
    header: (name) => readHeader(request.headers, name),
    body: operation.body ? operation.body.pickDeclared(body) : undefined,
    isTrusted,
    signal: () => AbortSignal.any([request.left(), deps.draining]),
  };
}

function requireValidParts(
  operation: Operation,
  { params, query: rawQuery, sent, read }: Parsed,
  header: ApiRequest['headers'],
  limits: JsonLimits,
): RequestParts {
  const { query, errors: queryErrors } = operation.readQuery(rawQuery);
  const parts = {
    path: params,
    query,
    header,
    ...(operation.body && { requestBody: read.value }),
  };
  const excess = operation.body ? findExcess(read.value, limits) : undefined;
  if (excess) throw validationFailed([excess]);
  const errors = keepFirst([
    ...queryErrors,
    ...validateBodySecret(operation.body?.auth, read.value, sent),
    ...operation.validate(parts),
    ...validateFields(operation.operationId, parts),
  ]);
  if (errors.length > 0) throw validationFailed(errors);
  return parts;
}

/** One error for each place: a parameter that can't be decoded is not reported as missing as well. */
function keepFirst(errors: readonly FieldError[]): readonly FieldError[] {
  const byPointer = new Map<string, FieldError>();
  for (const error of errors) if (!byPointer.has(error.pointer)) byPointer.set(error.pointer, error);
  return [...byPointer.values()];
}

/** Characters that are rendered before everything else goes on: about a millisecond. */
const PART_CHARS = 131_072;

/**
 * Renders a body part by part, as fast as its reader takes it: memory holds one part of it, however long it
 * is. A body that fits into the first part is returned whole. Rejects when the first parts can't be rendered.
 */
async function renderParts(pieces: AsyncIterable<string>): Promise<string | Parts> {
  const parts = joinShort(pieces);
  const next = () => yieldToEventLoop().then(() => parts.next());
  const { value: first = '' } = await parts.next();
  // A short body waits for nothing.
  const second = first.length < PART_CHARS ? await parts.next() : await next();
  if (second.done) return first;
  return { first: `${first}${second.value}`, next, end: () => void parts.return(undefined) };
}

async function* joinShort(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  let part = '';
  for await (const piece of pieces) {
    part += piece;
    if (part.length < PART_CHARS) continue;
    yield part;
    part = '';
  }
  if (part !== '') yield part;
}
