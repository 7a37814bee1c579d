/**
 * The errors of the SDK: one class for each case a caller may want to handle differently, each with a stable
 * string `code`. All extend `TaskGatewayError`. A failed task is an error only in `runTask`; the plain calls
 * return it as data. No message contains a secret.
 */
import type { FieldError, Problem, RequestId, SessionId } from './contract.ts';
import type { ConnectionCode, ErrorCode, Open, ProblemCode, StopCode } from './error-codes.ts';

/** The base class of all errors the SDK throws on purpose. */
export class TaskGatewayError extends Error {
  override readonly name: string = 'TaskGatewayError';
  /** Identifies the error where its class isn't enough. Stable within a major version. */
  readonly code: ErrorCode;
  /**
   * The task that the error is about: of every error that `runTask` throws after the submission. The task may
   * go on: get it, or cancel it.
   */
  declare readonly request_id?: RequestId | undefined;
  /**
   * The key of the submission, of every error that `submitTask` and `runTask` throw. Where there is no
   * `request_id`, the task may exist: the same submission with this key and `cli_session_id` returns it, or
   * creates it.
   */
  declare readonly idempotencyKey?: string | undefined;
  /** The session of the submission, beside `idempotencyKey`. */
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
 * Returns a number that was given, also as a text, or the default. Throws `InvalidOptionError` for what is no
 * number, and below the least.
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
 * No usable response from the gateway. `code`: `connection_failed` (refused, cut, no such host; `cause` is
 * the platform's error), `redirected`, `not_a_gateway` (the response is not one of the contract's: another
 * server is at this address), `id_mismatch` (it is about another agent than the one asked for: a proxy
 * changes paths), `not_an_event_stream`, `event_too_large` or `response_too_large`.
 */
export class ConnectionError extends TaskGatewayError {
  override readonly name: string = 'ConnectionError';
  declare readonly code: Open<ConnectionCode>;
}

/** Creates the error for a response that a gateway would not send. */
export function createForeignError(code: ConnectionCode, does: string): ConnectionError {
  return new ConnectionError(code, `The server at this address ${does}. Check baseUrl (TASK_GATEWAY_URL).`);
}

/** No response within `timeoutMs`. `code`: `timeout`. Whether the call took effect is unknown. */
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

/** A task can be found by these. */
type TaskNames = Pick<TaskGatewayError, 'request_id' | 'idempotencyKey' | 'cli_session_id'>;

/** Returns the error, which then names its task. Errors that are not the SDK's stay as they are. */
export function nameTask(error: unknown, names: TaskNames & Pick<AbortError, 'cancelled'>): unknown {
  return error instanceof TaskGatewayError ? Object.assign(error, names) : error;
}

/** The caller's signal fired. `code`: `aborted`. `cause` is the signal's reason. */
export class AbortError extends TaskGatewayError {
  override readonly name: string = 'AbortError';
  declare readonly code: 'aborted';
  /**
   * Of a run with `cancelOnAbort`: resolves when its task was cancelled, within 10 s, and never rejects. A
   * program that ends awaits it: a cancellation that is not sent by then never is. True: the task does not go
   * on, or there is none. False: the gateway has not confirmed it. A task that was being submitted has its
   * `request_id` here by then.
   */
  declare readonly cancelled?: Promise<boolean> | undefined;

  /**
   * Of an agent with a `signal`: settles as `stop` does, when the agent has stopped. A program that ends
   * awaits it, because tasks that are not reported by then stay with the gateway until it misses the agent.
   */
  declare readonly stopped?: Promise<void> | undefined;

  constructor(reason?: unknown) {
    super('aborted', 'The call was aborted by its signal.', { cause: reason });
  }
}

/** An error response, as the error classes need it. */
export type ErrorResponse = {
  /** The HTTP status. */
  readonly status: number;
  /**
   * The problem details in its body; absent when the response came from something in front of the gateway.
   */
  readonly problem?: Problem | undefined;
  /** The delay `Retry-After` asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** How often the request was sent. */
  readonly attempts: number;
  /** The response's headers. */
  readonly headers?: Headers | undefined;
};

/** An error response. `code` is that of its problem details, or `http_` and the status where it has none. */
export class ApiError extends TaskGatewayError {
  override readonly name: string = 'ApiError';
  declare readonly code: Open<Problem['code'] | 'route_not_found' | `http_${number}`>;
  /** The HTTP status. */
  declare readonly status: number;
  /** The problem details; absent when the response came from something in front of the gateway. */
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

/** Status 400. `code`: `malformed_body`, `agent_id_missing`, `agent_mismatch` or `task_terminal`. */
export class BadRequestError extends ApiError {
  override readonly name: string = 'BadRequestError';
  declare readonly code: ProblemCode<400>;
}

/** Status 401: the secret is wrong. `code`: `unauthorized`. */
export class AuthenticationError extends ApiError {
  override readonly name: string = 'AuthenticationError';
  declare readonly code: ProblemCode<401>;
}

/** Status 403: a page of an origin that the gateway does not serve. `code`: `origin_not_allowed`. */
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
 * Status 422. `code`: `validation_failed` (fields are missing or wrong) or `idempotency_conflict` (the
 * idempotency key was used with other content).
 */
export class ValidationError extends ApiError {
  override readonly name: string = 'ValidationError';
  declare readonly code: ProblemCode<422>;
  /** All faults of the request: for each a JSON Pointer and what to send instead. */
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

/** Creates an error of the class that belongs to the status. */
export function createApiError(response: ErrorResponse): ApiError {
  return new (CLASSES[response.status] ?? ApiError)(response);
}

/** Whether a retry may have failed only because an earlier attempt, whose response was lost, took effect. */
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
