/**
 * The errors of the kit: one class per thing a caller may want to tell apart, each with a stable string `code`.
 * `TaskGatewayError` is the root of all of them. A task that failed is an error of `runTask` alone; the plain calls
 * answer it as data. No text here ever contains a secret.
 */
import type { FailedTask, FieldError, Problem } from './contract.ts';

/** The root of everything the kit throws on purpose. */
export class TaskGatewayError extends Error {
  override readonly name: string = 'TaskGatewayError';
  /** Stable within a major version: what to branch on where the class isn't enough. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An option or argument that can't work, found before anything is sent: `invalid_option`. */
export class InvalidOptionError extends TaskGatewayError {
  override readonly name: string = 'InvalidOptionError';

  constructor(message: string, options?: ErrorOptions) {
    super('invalid_option', message, options);
  }
}

/**
 * No answer of the gateway: `connection_failed` (refused, cut, no such host; `cause` has the platform's words),
 * `redirected` and `not_a_gateway` (somebody else answers at this address), `not_an_event_stream`, `event_too_large`.
 */
export class ConnectionError extends TaskGatewayError {
  override readonly name: string = 'ConnectionError';
}

/** No answer within `timeoutMs`: `timeout`. Whether the call took effect is not known. */
export class TimeoutError extends TaskGatewayError {
  override readonly name: string = 'TimeoutError';
  /** How long was waited. */
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(
      'timeout',
      `The gateway did not answer within ${timeoutMs} ms. Raise timeoutMs, or try again later.`,
    );
    this.timeoutMs = timeoutMs;
  }
}

/** The caller's signal fired: `aborted`. `cause` is the signal's reason. */
export class AbortError extends TaskGatewayError {
  override readonly name: string = 'AbortError';

  constructor(reason?: unknown) {
    super('aborted', 'The call was aborted by its signal.', { cause: reason });
  }
}

/** What is known of an answer that says no. */
export type Refusal = {
  /** The HTTP status. */
  readonly status: number;
  /** The problem details the gateway sent (§7); absent when something before the gateway answered. */
  readonly problem?: Problem | undefined;
  /** What `Retry-After` asked for, milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** How often the request was sent. */
  readonly attempts: number;
  /** The answer's headers. */
  readonly headers?: Headers | undefined;
};

/** The gateway answered with an error status (§7). `code` is the problem's, or `http_` and the status. */
export class ApiError extends TaskGatewayError {
  override readonly name: string = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  /** What the gateway says is wrong; absent when something before it answered. */
  readonly problem: Problem | undefined;
  /** What `Retry-After` asked for, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** How often the request was sent. */
  readonly attempts: number;
  /** The answer's headers; empty where they are not known. */
  readonly headers: Headers;

  constructor(refusal: Refusal) {
    const { status, problem, retryAfterMs, attempts, headers = new Headers() } = refusal;
    super(
      problem?.code ?? `http_${status}`,
      problem ? `${status} ${problem.title}: ${problem.detail}` : `The gateway answered ${status}.`,
    );
    this.status = status;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
    this.attempts = attempts;
    this.headers = headers;
  }
}

/** 400: `malformed_body`, `agent_id_missing`, `agent_mismatch`, `task_terminal`. */
export class BadRequestError extends ApiError {
  override readonly name: string = 'BadRequestError';
}

/** 401: the secret is wrong (`unauthorized`). */
export class AuthenticationError extends ApiError {
  override readonly name: string = 'AuthenticationError';
}

/** 404: `task_not_found`, `agent_not_found`, `route_not_found`. */
export class NotFoundError extends ApiError {
  override readonly name: string = 'NotFoundError';
}

/** 413: the body is larger than the gateway takes (`payload_too_large`). */
export class PayloadTooLargeError extends ApiError {
  override readonly name: string = 'PayloadTooLargeError';
}

/** 415: `unsupported_media_type`. */
export class UnsupportedMediaTypeError extends ApiError {
  override readonly name: string = 'UnsupportedMediaTypeError';
}

/** 422: fields are missing or wrong (`validation_failed`), or the idempotency key was used before. */
export class ValidationError extends ApiError {
  override readonly name: string = 'ValidationError';
  /** Everything that is wrong: a JSON Pointer and what to send instead. */
  readonly errors: readonly FieldError[];

  constructor(refusal: Refusal) {
    super(refusal);
    const { problem } = refusal;
    this.errors = problem && 'errors' in problem ? problem.errors : [];
    const details = this.errors.map(({ pointer, detail }) => `${pointer || 'the body'} ${detail}`);
    if (details.length > 0) this.message += ` (${details.join('; ')})`;
  }
}

/** 429: too many streams (`too_many_streams`). */
export class RateLimitError extends ApiError {
  override readonly name: string = 'RateLimitError';
}

/** 500: a fault of the gateway (`internal`). */
export class InternalError extends ApiError {
  override readonly name: string = 'InternalError';
}

/** 503: not now (`busy`, `store_unavailable`). */
export class UnavailableError extends ApiError {
  override readonly name: string = 'UnavailableError';
}

/** The error of the class that belongs to the status. */
export function createApiError(refusal: Refusal): ApiError {
  switch (refusal.status) {
    case 400:
      return new BadRequestError(refusal);
    case 401:
      return new AuthenticationError(refusal);
    case 404:
      return new NotFoundError(refusal);
    case 413:
      return new PayloadTooLargeError(refusal);
    case 415:
      return new UnsupportedMediaTypeError(refusal);
    case 422:
      return new ValidationError(refusal);
    case 429:
      return new RateLimitError(refusal);
    case 500:
      return new InternalError(refusal);
    case 503:
      return new UnavailableError(refusal);
    default:
      return new ApiError(refusal);
  }
}

/** A task ended as `failed`: `task_failed`. `task` is the task as it ended. Thrown by `runTask`. */
export class TaskFailedError extends TaskGatewayError {
  override readonly name: string = 'TaskFailedError';
  /** The task as it ended. */
  readonly task: FailedTask;

  constructor(task: FailedTask, code = 'task_failed') {
    super(code, `Task ${task.request_id} failed: ${task.error_info ?? 'no reason given'}`);
    this.task = task;
  }
}

/** Somebody cancelled the task (§2.3): `task_cancelled`. */
export class TaskCancelledError extends TaskFailedError {
  override readonly name: string = 'TaskCancelledError';

  constructor(task: FailedTask) {
    super(task, 'task_cancelled');
  }
}

/** The task's own `timeout` was over (§2.3): `task_timeout`. */
export class TaskTimeoutError extends TaskFailedError {
  override readonly name: string = 'TaskTimeoutError';

  constructor(task: FailedTask) {
    super(task, 'task_timeout');
  }
}

/** No agent qualified: no tag in common, wrong state, or full (§2.3): `no_agent_available`. */
export class NoAgentAvailableError extends TaskFailedError {
  override readonly name: string = 'NoAgentAvailableError';

  constructor(task: FailedTask) {
    super(task, 'no_agent_available');
  }
}

/** The `error_info` of a cancelled task (§2.3). */
export const CANCELLED_TEXT = 'cancelled by user';

/** The error for a task that ended as `failed`, told by its `error_info` (§2.3). */
export function createTaskError(task: FailedTask): TaskFailedError {
  switch (task.error_info) {
    case CANCELLED_TEXT:
      return new TaskCancelledError(task);
    case 'timeout':
      return new TaskTimeoutError(task);
    case '无可用 Agent':
      return new NoAgentAvailableError(task);
    default:
      return new TaskFailedError(task);
  }
}
