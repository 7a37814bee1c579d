/**
 * Sends a request with retries, and turns every failure into an error of the SDK. It retries when there is no
 * response, and after 408, 429 and 5xx, so only idempotent calls may go through here. All calls of the client
 * are: a submission carries an idempotency key, and the others set a state instead of adding to it.
 */
import { checkDepth, readText } from './bodies.ts';
import { type Clock, linkSignals, readMonotonicMs } from './clock.ts';
import {
  AbortError,
  ConnectionError,
  createApiError,
  createForeignError,
  InvalidOptionError,
  TaskGatewayError,
  TimeoutError,
} from './errors.ts';
import { type Log, runCallback } from './log.ts';
import { type Guard, readProblem } from './responses.ts';
import type { Redactor } from './secrets.ts';
import { ASKED_MAX_MS, checkTransient, choosePauseMs, isTransient, readRetryAfter } from './waiting.ts';

/** The options of one call. The client's options are the defaults. */
export type CallOptions = {
  /** Aborts the call, which then throws an `AbortError`. */
  readonly signal?: AbortSignal | undefined;
  /** How long one attempt may take, including the body of its response, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /** How often a failed call is retried; 0 for never. Default: 4. */
  readonly maxRetries?: number | undefined;
  /** Headers sent with the request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Called with a copy of each response, even if a retry follows. You may read its body. If it throws, the
   * error is printed and changes nothing.
   */
  readonly onResponse?: ((response: Response) => void) | undefined;
} & TraceOptions;

/** The trace that a call belongs to, in the headers of W3C Trace Context. */
export type TraceOptions = {
  /**
   * `00-…`: the span that is the parent of what follows. The gateway keeps that of a submission with its
   * task, and hands it to the task's agent.
   */
  readonly traceparent?: string | undefined;
  /** What tracing systems add to it, at most 512 characters. */
  readonly tracestate?: string | undefined;
};

/** The platform's `fetch`, or a function that behaves like it. */
export type Fetch = (request: Request, init?: RequestInit) => Promise<Response>;

/** The call options that have defaults. */
export type CallSettings = { readonly timeoutMs: number; readonly maxRetries: number };

export type Network = {
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Removes secrets from the texts of errors. */
  readonly redactor: Redactor;
  readonly log: Log;
  readonly maxResponseBytes: number;
  /** The variable of the environment that gave the address; empty if an option gave it. */
  readonly urlVariable: string;
};

/** What openapi-fetch returns. */
export type FetchResult = {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
};

const BACKOFF = { firstMs: 500, maxMs: 8_000 };

/**
 * Makes one call: `request` builds the request and sends it with the `fetch` that it gets. Once `check` has
 * accepted the JSON value of the response, returns it; undefined for a 204, null for a 304. Throws
 * `InvalidOptionError` for a request that can't be built, `ApiError`, `ConnectionError`, `TimeoutError` or
 * `AbortError`.
 */
export async function exchange<Data>(
  network: Network,
  options: CallOptions & CallSettings,
  request: (fetch: (request: Request) => Promise<Response>) => Promise<FetchResult>,
  check: Guard<Data>,
): Promise<Data> {
  if (options.signal?.aborted) throw new AbortError(options.signal.reason);
  const sent = { attempts: 0 };
  const result = await requireResult(
    () => request((one) => sendWithRetries(network, options, one, sent)),
    sent,
  );
  const { data, response } = result;
  if (!response.ok) throw createResponseError(network, result, sent.attempts);
  // An empty body is no JSON, and only a 204 may have one.
  const value = response.status === 204 ? data : (data ?? null);
  if (check(value)) return value;
  throw createNotGatewayError();
}

/**
 * Returns the result of openapi-fetch. If openapi-fetch itself throws, the error is about the request before
 * it is sent, or about a body that is no JSON. The platform's errors are not quoted: they hold values, which
 * may be secrets.
 */
export async function requireResult<Result extends FetchResult>(
  request: () => Promise<Result>,
  sent = { attempts: 0 },
): Promise<Result> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof TaskGatewayError) throw error;
    if (sent.attempts > 0) throw createNotGatewayError();
    throw new InvalidOptionError('The request can’t be sent: check its ids, filters and headers.');
  }
}

function createNotGatewayError(): ConnectionError {
  return createForeignError('not_a_gateway', 'is not a Task Gateway: its response is not valid');
}

/** Creates the error for an error response. If the server echoed a secret, it is redacted. */
export function createResponseError(
  { clock, redactor }: Network,
  { response: { status, headers }, error }: FetchResult,
  attempts: number,
): TaskGatewayError {
  return createApiError({
    status,
    problem: readProblem(redactor.redact(error ?? null)),
    retryAfterMs: readRetryAfter(headers, clock.nowMs()),
    attempts,
    headers,
  });
}

async function sendWithRetries(
  network: Network,
  options: CallOptions & CallSettings,
  request: Request,
  sent: { attempts: number },
): Promise<Response> {
  const { clock, log } = network;
  const { signal, timeoutMs, onResponse } = options;
  const call = `${request.method} ${new URL(request.url).pathname}`;
  for (;;) {
    const startMs = readMonotonicMs(clock);
    const linked = linkSignals(signal);
    const attempt = { signal: linked.signal, timeoutMs };
    const outcome = await send(network, attempt, request.clone(), (response) =>
      readResponse(response, network.maxResponseBytes, onResponse),
    ).catch((error: TaskGatewayError) => error);
    linked.abort();
    sent.attempts += 1;
    const status = outcome instanceof Response ? outcome.status : outcome.code;
    const afterMs = readMonotonicMs(clock) - startMs;
    log('debug', `${call}: ${status}`, { attempt: sent.attempts, afterMs });
    const waitMs = chooseRetryDelay(outcome, sent.attempts, options.maxRetries, clock);
    if (waitMs === undefined) {
      if (outcome instanceof Response && outcome.ok) return outcome;
      log(signal?.aborted ? 'debug' : 'warn', `${call} failed: ${status}`, { attempts: sent.attempts });
      if (outcome instanceof Response) return outcome;
      throw outcome;
    }
    log('info', `${call}: ${status}, retrying in ${Math.round(waitMs)} ms`, { attempt: sent.attempts });
    await clock.sleep(waitMs, signal);
    if (signal?.aborted) throw new AbortError(signal.reason);
  }
}

/** Opens a stream with one attempt. If it succeeds, its body can be read until the signal fires. */
export function openOnce(network: Network, attempt: Attempt, request: Request): Promise<Response> {
  return send(network, attempt, request, (response) =>
    response.ok ? response : readResponse(response, network.maxResponseBytes),
  );
}

/** One attempt: its timeout, and a signal that belongs to it alone and fires at its end. */
type Attempt = { readonly signal: AbortSignal; readonly timeoutMs: number };

/**
 * Sends a request with one attempt. `read` must resolve within the timeout. Throws only errors of the SDK.
 */
async function send(
  { fetch, clock, urlVariable }: Network,
  { signal, timeoutMs }: Attempt,
  request: Request,
  read: (response: Response) => Response | Promise<Response>,
): Promise<Response> {
  const linked = linkSignals(signal);
  const timer = new AbortController();
  const timeout = new TimeoutError(timeoutMs);
  void clock.sleep(timeoutMs, timer.signal).then(() => timer.signal.aborted || linked.abort(timeout));
  try {
    const response = await fetch(request, { signal: linked.signal });
    requireHead(response);
    return await read(response);
  } catch (cause) {
    if (signal.aborted) throw new AbortError(signal.reason);
    if (linked.signal.reason === timeout) throw timeout;
    throw cause instanceof TaskGatewayError ? cause : createConnectionError(request, urlVariable, cause);
  } finally {
    timer.abort();
  }
}

/**
 * Reads a response to its end, and returns a copy that holds its body. A body that nests too deep to be
 * parsed is left out. A 304 has no body: its copy is a success that holds null.
 */
async function readResponse(
  response: Response,
  bytesMax: number,
  onResponse?: (response: Response) => void,
): Promise<Response> {
  const text = await readText(response, bytesMax);
  const copy = (body: string): Response => new Response(body || null, response);
  if (onResponse) runCallback('onResponse', () => onResponse(copy(text)));
  return response.status === 304 ? new Response('null') : copy(checkDepth(text) ? text : '');
}

/**
 * Throws for a response that is not a gateway's. Redirects are not followed, because the secret and the task
 * would go to the server that they name. No HTTP server has a status above 599, which a `Response` can't
 * hold.
 */
function requireHead({ type, status }: Response): void {
  if (status > 599) throw createNotGatewayError();
  if (type === 'opaqueredirect' || (status > 299 && status < 400 && status !== 304)) {
    throw createForeignError('redirected', 'redirects, which is not followed');
  }
}

/**
 * Creates the error for a request without a response. It does not quote the path, because that names a task
 * or a session.
 */
function createConnectionError(request: Request, urlVariable: string, cause: unknown): ConnectionError {
  const { origin } = new URL(request.url);
  const code = findCode(cause);
  const why = code ? ` (${code})` : '';
  const source = urlVariable && ` The address is from ${urlVariable}.`;
  return new ConnectionError(
    'connection_failed',
    `No response from the gateway at ${origin}${why}. Is it running?${source}${describeBlocking(origin)}`,
    { cause },
  );
}

/** Returns the likely cause in a browser, which does not say that it has blocked a request. */
function describeBlocking(origin: string): string {
  const page = globalThis.location?.origin;
  return page === undefined || page === origin
    ? ''
    : ` If it is, the browser may have blocked the request (CORS): add ${page} to the gateway's CORS_ORIGINS.`;
}

/** Finds the platform's code of a failure, such as ECONNREFUSED, in the chain of causes. */
function findCode(cause: unknown): string | undefined {
  for (let error = cause; error instanceof Error; error = error.cause) {
    if ('code' in error && typeof error.code === 'string') return error.code;
  }
  return undefined;
}

/** Returns the milliseconds to wait before the next attempt, or undefined if there should be none. */
function chooseRetryDelay(
  outcome: Response | TaskGatewayError,
  attempts: number,
  maxRetries: number,
  clock: Clock,
): number | undefined {
  if (attempts > maxRetries) return undefined;
  let askedMs: number | undefined;
  if (outcome instanceof Response) {
    if (!isTransient(outcome.status)) return undefined;
    askedMs = readRetryAfter(outcome.headers, clock.nowMs());
    // The call fails at once; its error says how long to wait.
    if (askedMs !== undefined && askedMs > ASKED_MAX_MS) return undefined;
  } else if (!checkTransient(outcome)) return undefined;
  return choosePauseMs(clock, BACKOFF, attempts - 1, askedMs);
}
