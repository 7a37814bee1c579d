/**
 * The errors of the SDK: one class for each case that a caller may want to handle differently, each with a
 * stable string `code`. All extend `TaskGatewayError`. Only `runTask` and `followTask` make an error of a
 * failed task; the plain calls return it as data. No message contains a secret.
 */
import type { FieldError, Problem, RequestId, SessionId } from './contract.ts';
import type { ConnectionCode, ErrorCode, Open, ProblemCode, StopCode } from './error-codes.ts';

/** The base class of all errors that the SDK throws on purpose. */
export class TaskGatewayError extends Error {
  override readonly name: string = 'TaskGatewayError';
  /** Identifies the error where its class isn't enough. Stable within a major version. */
  readonly code: ErrorCode;
  /**
   * The task that the error is about. Every error that `runTask` throws after the submission has it. The task
   * may still go on: get it, or cancel it.
   */
  declare readonly request_id?: RequestId | undefined;
  /**
   * The key of the submission. Every error that `submitTask` and `runTask` throw has it. If `request_id` is
   * absent, the task may exist all the same: the same submission with this key and `cli_session_id` returns
   * it, or creates it.
   */
  declare readonly idempotencyKey?: string | undefined;
  /** The session of the submission, if it has one. Every error with an `idempotencyKey` has it. */
  declare readonly cli_session_id?: SessionId | undefined;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An option or argument that can't work, found before a request was sent. `code`: `invalid_option`. */
export class InvalidOptionError extends TaskGatewayError {
  override readonly name: string = 'InvalidOptionError';
  declare readonly code: 'invalid_option';

  constructor(message: string, options?: ErrorOptions) {
    super('invalid_option', message, options);
  }
}

/**
 * Returns a number that was given, also as a text, or the default. Throws `InvalidOptionError` for what is
 * not a number, and for one below the least.
 */
export function requireNumber(
  { name, value }: { readonly name: string; readonly value: number | string | undefined },
  byDefault: number,
  least: number,
): number {
  const number = Number(value ?? byDefault);
  if (number >= least) return number;
  throw new InvalidOptionError(`${name} must be a number of ${least} or more.`);
}

/**
 * No usable response came from the gateway. `code`: `connection_failed` (refused, cut, no such host; `cause`
 * is the platform's error), `redirected`, `not_a_gateway` (the contract has no such response: another server
 * is at this address), `id_mismatch` (the response is about another agent: a proxy changes paths),
 * `not_an_event_stream`, `event_too_large` or `response_too_large`.
 */
export class ConnectionError extends TaskGatewayError {
  override readonly name: string = 'ConnectionError';
  declare readonly code: Open<ConnectionCode>;
}

/** Creates the error for a response that a gateway would not send. */
export function createForeignError(code: ConnectionCode, does: string): ConnectionError {
  return new ConnectionError(code, `The server at this address ${does}. Check baseUrl (TASK_GATEWAY_URL).`);
}

/** No response came within `timeoutMs`. `code`: `timeout`. The call may have taken effect. */
export class TimeoutError extends TaskGatewayError {
  override readonly name: string = 'TimeoutError';
  declare readonly code: 'timeout';
  /** The timeout that passed, in milliseconds. */
  readonly timeoutMs: number;

  constructor(timeoutMs: number, what = 'No response') {
    super('timeout', `${what} within ${timeoutMs} ms (timeoutMs).`);
    this.timeoutMs = timeoutMs;
  }
}

/** What finds a task again. */
type TaskNames = Pick<TaskGatewayError, 'request_id' | 'idempotencyKey' | 'cli_session_id'>;

/** Adds the task's names to an error and returns it. An error that is not the SDK's stays as it is. */
export function nameTask(error: unknown, names: TaskNames & Pick<AbortError, 'cancelled'>): unknown {
  return error instanceof TaskGatewayError ? Object.assign(error, names) : error;
}

/** The caller's signal fired. `code`: `aborted`. `cause` is the signal's reason. */
export class AbortError extends TaskGatewayError {
  override readonly name: string = 'AbortError';
  declare readonly code: 'aborted';
  /**
   * Only errors of a run with `cancelOnAbort` have it. It resolves when the task was cancelled, within 10 s,
   * and never rejects. Await it before the program ends: a cancellation not sent by then never is. True means
   * that the task does not go on, or never existed; false, that the gateway has not confirmed the
   * cancellation. If the task was still being submitted, the error has its `request_id` by then.
   */
  declare readonly cancelled?: Promise<boolean> | undefined;

  /**
   * Only errors of an agent with a `signal` have it. It settles as `stop` does, when the agent has stopped.
   * Await it before the program ends: tasks not reported by then stay with the gateway until it misses the
   * agent.
   */
  declare readonly stopped?: Promise<void> | undefined;

  constructor(reason?: unknown) {
    super('aborted', 'The call was aborted by its signal.', { cause: reason });
  }
}

/** An error response, as far as the error classes need it. */
export type ErrorResponse = {
  /** The HTTP status. */
  readonly status: number;
  /** The problem details in its body. Absent when something in front of the gateway responded. */
  readonly problem?: Problem | undefined;
  /** The delay `Retry-After` asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** How often the request was sent. */
  readonly attempts: number;
  /** The response's headers. */
  readonly headers?: Headers | undefined;
};

/** An error response. `code` is that of its problem details; if it has none, `http_` and the status. */
export class ApiError extends TaskGatewayError {
  override readonly name: string = 'ApiError';
  declare readonly code: Open<Problem['code'] | 'route_not_found' | `http_${number}`>;
  /** The HTTP status. */
  declare readonly status: number;
  /** The problem details. Absent when something in front of the gateway responded. */
  declare readonly problem: Problem | undefined;
  /** The delay `Retry-After` asked for, in milliseconds. */
  declare readonly retryAfterMs: number | undefined;
  /** How often the request was sent. */
  declare readonly attempts: number;
  /** The response's headers; empty if unknown. */
  declare readonly headers: Headers;

  constructor(response: ErrorResponse) {
    const { status, problem } = response;
    super(
      problem?.code ?? `http_${status}`,
      problem ? `${status} ${problem.title}: ${problem.detail}` : `The gateway responded with ${status}.`,
    );
    Object.assign(this, { headers: new Headers(), ...response });
  }
}

/**
 * Status 400. `code`: `malformed_body`, `agent_id_missing`, `agent_mismatch`, `task_terminal` or `not_asked`.
 */
export class BadRequestError extends ApiError {
  override readonly name: string = 'BadRequestError';
  declare readonly code: ProblemCode<400>;
}

/** Status 401: the secret is wrong. `code`: `unauthorized`. */
export class AuthenticationError extends ApiError {
  override readonly name: string = 'AuthenticationError';
  declare readonly code: ProblemCode<401>;
}

/**
 * Status 403. `code`: `origin_not_allowed` (a page of an origin that the gateway does not allow) or
 * `read_only` (a change, where administrators may only look).
 */
export class ForbiddenError extends ApiError {
  override readonly name: string = 'ForbiddenError';
  declare readonly code: ProblemCode<403>;
}

/** Status 404. `code`: `task_not_found`, `agent_not_found` or `route_not_found`. */
export class NotFoundError extends ApiError {
  override readonly name: string = 'NotFoundError';
  declare readonly code: ProblemCode<404> | 'route_not_found';
}

/** Status 413: the body is larger than the gateway accepts. `code`: `payload_too_large`. */
export class PayloadTooLargeError extends ApiError {
  override readonly name: string = 'PayloadTooLargeError';
  declare readonly code: ProblemCode<413>;
}

/** Status 415: the body is not JSON. `code`: `unsupported_media_type`. */
export class UnsupportedMediaTypeError extends ApiError {
  override readonly name: string = 'UnsupportedMediaTypeError';
  declare readonly code: ProblemCode<415>;
}

/** Status 421: the gateway does not serve the host in `baseUrl`. `code`: `misdirected`. */
export class MisdirectedError extends ApiError {
  override readonly name: string = 'MisdirectedError';
  declare readonly code: ProblemCode<421>;
}

/**
 * Status 422. `code`: `validation_failed` (fields are missing or wrong) or `idempotency_conflict` (the key
 * was used before with other content).
 */
export class ValidationError extends ApiError {
  override readonly name: string = 'ValidationError';
  declare readonly code: ProblemCode<422>;
  /** All faults of the request; each has a JSON Pointer and says what to send instead. */
  readonly errors: readonly FieldError[];

  constructor(response: ErrorResponse) {
    super(response);
    const { problem } = response;
    this.errors = problem && 'errors' in problem ? problem.errors : [];
    const details = this.errors.map(({ pointer, detail }) => `${pointer || 'the body'} ${detail}`);
    if (details.length > 0) this.message += ` (${details.join('; ')})`;
  }
}

/** Status 429: too many open event streams. `code`: `too_many_streams`. */
export class RateLimitError extends ApiError {
  override readonly name: string = 'RateLimitError';
  declare readonly code: ProblemCode<429>;
}

/** Status 500: a fault of the gateway. `code`: `internal`. */
export class InternalError extends ApiError {
  override readonly name: string = 'InternalError';
  declare readonly code: ProblemCode<500>;
}

/** Status 503: temporarily unavailable. `code`: `busy` or `store_unavailable`. */
export class UnavailableError extends ApiError {
  override readonly name: string = 'UnavailableError';
  declare readonly code: ProblemCode<503>;
}

const CLASSES: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: ForbiddenError,
  404: NotFoundError,
  413: PayloadTooLargeError,
  415: UnsupportedMediaTypeError,
  421: MisdirectedError,
  422: ValidationError,
  429: RateLimitError,
  500: InternalError,
  503: UnavailableError,
};

/** Creates the error, of the class that belongs to the status. */
export function createApiError(response: ErrorResponse): ApiError {
  return new (CLASSES[response.status] ?? ApiError)(response);
}

/** Whether a retry may have failed only because an earlier attempt took effect and its response was lost. */
export function mayHaveTakenEffect(error: unknown, code: string): boolean {
  const isRejected = error instanceof BadRequestError || error instanceof NotFoundError;
  return isRejected && error.code === code && error.attempts > 1;
}

/** The reason of a handler's signal; `code` says why it fired. A handler may throw it. */
export class WorkStoppedError extends TaskGatewayError {
  override readonly name: string = 'WorkStoppedError';
  declare readonly code: StopCode;

  constructor(code: StopCode, message: string) {
    super(code, message);
  }
}
