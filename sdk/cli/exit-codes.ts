/** The exit codes of the command. Says which one an error leads to, with a message that says what to do. */
import {
  AbortError,
  ApiError,
  AuthenticationError,
  ConnectionError,
  NotFoundError,
  TaskGatewayError,
  TimeoutError,
  ValidationError,
} from '../errors.ts';
import { NoAgentAvailableError, TaskFailedError } from '../task-errors.ts';

/**
 * All exit codes, one for each failure that a script may want to handle. The table in CLI.md has the same.
 */
export const EXIT_CODES = {
  ok: 0,
  /** A failure without a code of its own, such as a lost connection or an error of the gateway. */
  other: 1,
  /** The command line or its input is wrong. */
  usage: 2,
  /** The wait timed out; the task continues. */
  waitTimeout: 3,
  /** A secret is missing or wrong. */
  auth: 4,
  taskFailed: 5,
  /** The task failed because no agent was available. */
  noAgent: 6,
  /** The task or agent does not exist. */
  notFound: 7,
  /** Ctrl-C. */
  interrupted: 130,
  /** Nothing reads the output any more; only for a command whose exit code says how a task ended. */
  readerGone: 141,
} as const;

/** Ends the command with an exit code; its message is written to standard error. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  /** Says what to do, on a line of its own; empty if there is nothing to add. */
  readonly hint: string;

  constructor(exitCode: number, message: string, hint = '') {
    super(message);
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** Creates the error for arguments or input that can't work. */
export function createUsageError(message: string): CommandError {
  return new CommandError(EXIT_CODES.usage, message);
}

/** Returns the message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** How a command failed. */
export type Failure = { readonly exitCode: number; readonly text: string; readonly hint?: string };

const AUTH_ADVICE = 'Give the right one with TASK_GATEWAY_AUTH, --auth-file or --auth.';
/** The variables of a proxy that many programs obey. Node ignores them unless another one is set. */
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'];

/** Returns the advice if no gateway was reached. */
export function adviseAddress(): string {
  const advice = 'Start the gateway, or give its address with --url or TASK_GATEWAY_URL.';
  const proxy = PROXIES.find((name) => process.env[name]);
  if (proxy === undefined || process.env.NODE_USE_ENV_PROXY === '1') return advice;
  return `${advice} ${proxy} is not used: NODE_USE_ENV_PROXY=1 makes Node 24 use it.`;
}

const DOCTOR_ADVICE = 'Run "task-gateway doctor" to find the cause.';

/** Returns the exit code for an error, and a text that says what is wrong and what to do. */
export function describeError(error: unknown): Failure {
  if (error instanceof CommandError) {
    const { exitCode, message: text, hint } = error;
    return hint === '' ? { exitCode, text } : { exitCode, text, hint };
  }
  if (error instanceof AbortError) return { exitCode: EXIT_CODES.interrupted, text: 'Interrupted.' };
  if (error instanceof TaskFailedError) return describeTaskFailure(error);
  if (error instanceof ApiError) return describeApiError(error);
  if (error instanceof TimeoutError) {
    const text = `The gateway did not respond within ${error.timeoutMs} ms. Try again later. ${DOCTOR_ADVICE}`;
    return { exitCode: EXIT_CODES.other, text };
  }
  if (error instanceof ConnectionError) {
    return { exitCode: EXIT_CODES.other, text: describeConnectionError(error) };
  }
  if (error instanceof TaskGatewayError) return { exitCode: EXIT_CODES.usage, text: translateMessage(error) };
  return { exitCode: EXIT_CODES.other, text: messageOf(error) };
}

/**
 * Creates the error for a failed task. If the gateway has a hint, it stands below the message, in place of
 * general advice.
 */
export function createTaskFailure(error: TaskFailedError, hint: string): CommandError {
  if (hint === '') {
    const { exitCode, text } = describeTaskFailure(error);
    return new CommandError(exitCode, text);
  }
  if (!(error instanceof NoAgentAvailableError)) {
    return new CommandError(EXIT_CODES.taskFailed, error.message, hint);
  }
  const text = `Task ${error.request_id} failed: ${error.task.error_info} (no agent available).`;
  return new CommandError(EXIT_CODES.noAgent, text, hint);
}

function describeTaskFailure(error: TaskFailedError): Failure {
  if (error instanceof NoAgentAvailableError) {
    const text = `Task ${error.request_id} failed: ${error.task.error_info} (no agent available). Look for a free agent with a matching tag ("task-gateway agent list"), or let the task wait for one with --queue-timeout.`;
    return { exitCode: EXIT_CODES.noAgent, text };
  }
  return { exitCode: EXIT_CODES.taskFailed, text: error.message };
}

/** The platform's errors for a server that speaks another protocol, by the start of their code. */
const FOREIGN_PROTOCOLS: readonly (readonly [code: RegExp, text: string])[] = [
  [/^HPE_/, 'What listens at this address does not speak HTTP, so it is not a Task Gateway.'],
  [/^(ERR_SSL|EPROTO)/, 'What listens at this address does not speak TLS: http:// may be right.'],
];
const CHECK_URL = 'Check scheme, host, port and path of --url.';

function describeConnectionError(error: ConnectionError): string {
  if (error.code !== 'connection_failed') return `${translateMessage(error)} ${DOCTOR_ADVICE}`;
  const code = findCode(error.cause);
  const foreign = FOREIGN_PROTOCOLS.find(([pattern]) => pattern.test(code));
  return foreign ? `${foreign[1]} ${CHECK_URL}` : `${translateMessage(error)} ${adviseAddress()}`;
}

/** Returns the platform's code of a failure, such as ECONNREFUSED; empty without one. */
function findCode(cause: unknown): string {
  for (let error = cause; error instanceof Error; error = error.cause) {
    if ('code' in error && typeof error.code === 'string') return error.code;
    // Its code is not always set.
    if (error.name === 'HTTPParserError') return 'HPE_';
  }
  return '';
}

/** A gateway says in every error what is wrong. A proxy in front of it may fail in its own way. */
function isForeign({ status, problem }: ApiError): boolean {
  return problem === undefined && ![408, 429, 502, 503, 504].includes(status);
}

function describeApiError(error: ApiError): Failure {
  if (isForeign(error)) {
    const exitCode = error instanceof AuthenticationError ? EXIT_CODES.auth : EXIT_CODES.other;
    const text = `The server at this address is not a Task Gateway: it responded with ${error.status}. ${CHECK_URL}`;
    return { exitCode, text };
  }
  const text = translateMessage(error);
  if (error instanceof AuthenticationError) {
    return { exitCode: EXIT_CODES.auth, text: `The gateway rejects the gateway secret. ${AUTH_ADVICE}` };
  }
  if (error instanceof ValidationError) return { exitCode: EXIT_CODES.usage, text };
  if (error instanceof NotFoundError) {
    if (error.code === 'task_not_found' || error.code === 'agent_not_found') {
      return { exitCode: EXIT_CODES.notFound, text: `${text} Check the id and --url.` };
    }
    return { exitCode: EXIT_CODES.other, text: `${text} This may not be a Task Gateway: check --url.` };
  }
  if (error.retryAfterMs !== undefined) {
    const seconds = Math.ceil(error.retryAfterMs / 1_000);
    return { exitCode: EXIT_CODES.other, text: `${text} Try again in ${seconds} s.` };
  }
  return { exitCode: EXIT_CODES.other, text };
}

/** Returns the message as a sentence, in which the SDK's options have the names of the command line. */
function translateMessage(error: TaskGatewayError): string {
  const text = error.message
    .replaceAll(/\bbaseUrl\b/g, '--url')
    .replaceAll(/\badminAuth\b/g, '--admin-auth')
    .replaceAll(/^auth\b/g, '--auth');
  return /[.!?)]$/.test(text) ? text : `${text}.`;
}
