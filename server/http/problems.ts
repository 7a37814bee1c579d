/**
 * The problem bodies of RFC 9457 and the one table from a code to its status and title. The status of an
 * error is written nowhere else. A problem never repeats what was sent: no URL, no secret, no value.
 */
import { randomUUID } from 'node:crypto';
import type { components } from '@task-gateway/contract';
import { GatewayError } from '../ports/gateway.ts';
import { StoreRefused, StoreUnavailable } from '../ports/store.ts';

type Responses = components['responses'];
/** The error responses of the published document, where it lists their codes. */
type Documented = Responses[Exclude<keyof Responses, 'OtherProblem'>]['content']['application/problem+json'];

/** Without "any other text", which a client must expect. */
type Known<Code> = Code extends string ? (string extends Code ? never : Code) : never;
/** The codes of the published document. */
type DocumentedCode = Known<Documented['code']>;

/**
 * Codes of responses that belong to no operation: unknown path or method, or a request that could not be
 * parsed.
 */
type TransportCode = 'route_not_found' | 'method_not_allowed' | 'malformed_request' | 'headers_too_large';

export type ProblemCode = DocumentedCode | TransportCode;

/** One thing that is wrong in a request: where (RFC 6901), and what to send instead. */
export type FieldError = Readonly<components['schemas']['FieldError']>;

const TABLE: Readonly<Record<ProblemCode, { readonly status: number; readonly title: string }>> = {
  malformed_body: { status: 400, title: 'Malformed body' },
  agent_id_missing: { status: 400, title: 'agent_id missing' },
  agent_mismatch: { status: 400, title: "Another agent's task" },
  task_terminal: { status: 400, title: 'Task has ended' },
  not_asked: { status: 400, title: 'Question is not open' },
  malformed_request: { status: 400, title: 'Malformed request' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  origin_not_allowed: { status: 403, title: 'Origin not allowed' },
  read_only: { status: 403, title: 'Read-only' },
  task_not_found: { status: 404, title: 'Task not found' },
  agent_not_found: { status: 404, title: 'Agent not found' },
  route_not_found: { status: 404, title: 'Path not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'Request timeout' },
  payload_too_large: { status: 413, title: 'Payload too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  misdirected: { status: 421, title: 'Misdirected request' },
  validation_failed: { status: 422, title: 'Validation failed' },
  idempotency_conflict: { status: 422, title: 'Idempotency key used before' },
  too_many_streams: { status: 429, title: 'Too many streams' },
  headers_too_large: { status: 431, title: 'Headers too large' },
  internal: { status: 500, title: 'Internal error' },
  busy: { status: 503, title: 'Busy' },
  store_unavailable: { status: 503, title: 'Store unavailable' },
};

/** Every code that a response can have. */
export const PROBLEM_CODES: ReadonlySet<string> = new Set(Object.keys(TABLE));

/** Seconds after which the same request may be sent again. */
export const RETRY_AFTER_SECONDS = {
  too_many_streams: 5,
  busy: 5,
  store_unavailable: 2,
} as const satisfies Partial<Record<ProblemCode, number>>;

/** An error that becomes the response. Its message is the `detail`. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    code: ProblemCode,
    detail: string,
    more: {
      errors?: readonly FieldError[];
      headers?: Readonly<Record<string, string>>;
      cause?: unknown;
    } = {},
  ) {
    super(detail, { cause: more.cause });
    this.code = code;
    this.errors = more.errors;
    this.headers = more.headers ?? {};
  }
}

/** The caller closed the connection while its body was being read: no response can reach it. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';
}

/** The response that a problem becomes. */
export type ProblemResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON of media type `application/problem+json`. */
  readonly body: string;
};

/** Describes the response of a problem. */
export function describeProblem(problem: Problem): ProblemResponse {
  const { code, errors } = problem;
  const { status, title } = TABLE[code];
  const retryAfter = (RETRY_AFTER_SECONDS as Partial<Record<ProblemCode, number>>)[code];
  const type = `urn:task-gateway:problem:${code}`;
  return {
    status,
    headers: {
      ...problem.headers,
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    },
    body: JSON.stringify({ type, title, status, detail: problem.message, code, ...(errors && { errors }) }),
  };
}

/** A 422 that lists everything that is wrong, one entry for each place. */
export function validationFailed(errors: readonly FieldError[]): Problem {
  const count = errors.length === 1 ? '1 field is wrong' : `${errors.length} fields are wrong`;
  return new Problem('validation_failed', `${count}; see \`errors\`.`, { errors });
}

/**
 * Turns any thrown value into a problem. An unexpected one becomes a 500 whose detail holds only a reference,
 * under which the log has the cause.
 */
export function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof GatewayError) return fromGateway(thrown);
  if (thrown instanceof StoreRefused)
    return new Problem('store_unavailable', thrown.message, { cause: thrown });
  if (thrown instanceof StoreUnavailable) {
    const detail =
      'The store does not reply, and the change may have been made or not. Send it again after `Retry-After`.';
    return new Problem('store_unavailable', detail, { cause: thrown });
  }
  const reference = randomUUID();
  return new Problem(
    'internal',
    `The gateway failed to answer. The cause is in its log, under ${reference}.`,
    { cause: thrown },
  );
}

/**
 * The gateway's own 422 is about a key used before, or about what only the gateway can validate: one field,
 * or the fields of an answer.
 */
function fromGateway(error: GatewayError): Problem {
  if (error.code === 'idempotency_conflict') {
    const errors = [
      { pointer: '/Idempotency-Key', detail: 'was used for another content; take a fresh key' },
    ];
    return new Problem(error.code, error.message, { errors });
  }
  if (error.code === 'validation_failed') {
    return validationFailed(error.errors);
  }
  return new Problem(error.code, error.message);
}
