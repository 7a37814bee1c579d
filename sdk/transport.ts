/**
 * Sends a request with retries and turns every failure into an error of the SDK. It retries when there is no
 * response, and after 408, 429 and 5xx. So only idempotent calls may go through here. All of the client's
 * calls are: a submission carries an idempotency key, and the others set a state instead of adding to it.
 */
import { type Clock, linkSignals, readMonotonicMs } from './clock.ts';
import { AbortError, ConnectionError, createApiError, TaskGatewayError, TimeoutError } from './errors.ts';
import { type Log, runCallback } from './log.ts';
import { readBytes, readJson } from './requests.ts';
import { type Guard, readProblem } from './responses.ts';
import type { Redactor } from './secrets.ts';
import { ASKED_MAX_MS, choosePauseMs, isTransient, readRetryAfter } from './waiting.ts';

/** The options of one call. The client's options are the defaults. */
export type CallOptions = {
  /** Aborts the call, which then throws an `AbortError`. */
  readonly signal?: AbortSignal | undefined;
  /** The timeout of one attempt, including its response body, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /** How often a failed call is retried; 0 for never. Default: 4. */
  readonly maxRetries?: number | undefined;
  /** Headers sent with the request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Called with a copy of each response, including those that are followed by a retry. The body may be read.
   * What it throws is printed and changes nothing.
   */
  readonly onResponse?: ((response: Response) => void) | undefined;
};

/** The platform's `fetch`, or one that behaves like it. */
export type Fetch = (request: Request, init?: RequestInit) => Promise<Response>;

/** The call options that have defaults. */
export type CallSettings = { readonly timeoutMs: number; readonly maxRetries: number };

export type Network = {
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Removes secrets from the texts of errors. */
  readonly redactor: Redactor;
  readonly log: Log;
};

/** A response with its whole body. */
type Received = Pick<Response, 'status' | 'ok' | 'headers'> & { readonly bytes: Uint8Array };

const BACKOFF = { firstMs: 500, maxMs: 8_000 };

/**
 * Makes one call with the request that `createRequest` builds for each attempt. Returns the JSON value of the
 * response, undefined for a 204, once `check` has accepted it. Throws `ApiError`, `ConnectionError`,
 * `TimeoutError` or `AbortError`.
 */
export async function exchange<Data>(
  network: Network,
  options: CallOptions & CallSettings,
  createRequest: () => Request,
  check: Guard<Data>,
): Promise<Data> {
  if (options.signal?.aborted) throw new AbortError(options.signal.reason);
  const sent = { attempts: 0 };
  const received = await sendWithRetries(network, options, createRequest, sent);
  if (!received.ok) throw createResponseError(network, received, sent.attempts);
  const value = received.status === 204 ? undefined : readValue(received.bytes);
  if (check(value)) return value;
  throw new ConnectionError(
    'not_a_gateway',
    'The server at this address is not a Task Gateway: its response is not valid. Check baseUrl.',
  );
}

/** Returns the JSON value in a body; null if there is no such value. */
function readValue(bytes: Uint8Array): unknown {
  try {
    return readJson(bytes);
  } catch {
    return null;
  }
}

/** Creates the error for an error response. */
function createResponseError(
  { clock, redactor }: Network,
  { status, headers, bytes }: Omit<Received, 'ok'>,
  attempts: number,
): TaskGatewayError {
  return createApiError({
    status,
    problem: readProblem(redactor.redactValue(readValue(bytes))),
    retryAfterMs: readRetryAfter(headers, clock.nowMs()),
    attempts,
    headers,
  });
}

async function sendWithRetries(
  network: Network,
  options: CallOptions & CallSettings,
  createRequest: () => Request,
  sent: { attempts: number },
): Promise<Received> {
  const { clock, log } = network;
  const { signal } = options;
  for (;;) {
    const startMs = readMonotonicMs(clock);
    const request = createRequest();
    const call = `${request.method} ${new URL(request.url).pathname}`;
    const outcome = await sendOnce(network, options, request);
    sent.attempts += 1;
    const status = 'ok' in outcome ? String(outcome.status) : outcome.code;
    const afterMs = readMonotonicMs(clock) - startMs;
    log('debug', `${call}: ${status}`, { attempt: sent.attempts, afterMs });
    const waitMs = chooseRetryDelay(outcome, sent.attempts, options.maxRetries, clock);
    if (waitMs === undefined) {
      if ('ok' in outcome && outcome.ok) return outcome;
      log(signal?.aborted ? 'debug' : 'warn', `${call} failed: ${status}`, { attempts: sent.attempts });
      if ('ok' in outcome) return outcome;
      throw outcome;
    }
    log('info', `${call}: ${status}, retrying in ${Math.round(waitMs)} ms`, { attempt: sent.attempts });
    await clock.sleep(waitMs, signal);
    if (signal?.aborted) throw new AbortError(signal.reason);
  }
}

/**
 * Makes one attempt within its timeout, reading the whole body. Returns an error instead of throwing, for the
 * retries.
 */
async function sendOnce(
  { fetch, clock }: Network,
  { signal, timeoutMs, onResponse }: CallOptions & CallSettings,
  request: Request,
): Promise<Received | TaskGatewayError> {
  const linked = linkSignals(signal);
  const timeout = new TimeoutError(timeoutMs);
  void clock.sleep(timeoutMs, linked.signal).then(() => linked.abort(timeout));
  try {
    const response = await fetch(request, { signal: linked.signal });
    const redirected = validateNoRedirect(response);
    if (redirected) return redirected;
    const bytes = await readBytes(response);
    const { status, statusText, ok, headers } = response;
    runCallback('onResponse', () =>
      onResponse?.(new Response(bytes.length > 0 ? bytes.slice() : null, { status, statusText, headers })),
    );
    return { status, ok, headers, bytes };
  } catch (cause) {
    if (signal?.aborted) return new AbortError(signal.reason);
    if (linked.signal.reason === timeout) return timeout;
    return cause instanceof TaskGatewayError ? cause : createConnectionError(request, cause);
  } finally {
    linked.abort();
  }
}

/**
 * Opens a stream with one attempt. The response's head must arrive within `timeoutMs`; the body then streams
 * until the signal fires. The signal must belong to this connection alone and fire at its end. Throws the
 * error of a response that is not a success.
 */
export async function openOnce(
  network: Network,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
  request: Request,
): Promise<Response> {
  const { fetch, clock } = network;
  const linked = linkSignals(signal);
  const headTimer = linkSignals(signal);
  const timeout = new TimeoutError(timeoutMs);
  void clock.sleep(timeoutMs, headTimer.signal).then(() => headTimer.signal.aborted || linked.abort(timeout));
  try {
    const response = await fetch(request, { signal: linked.signal });
    const redirected = validateNoRedirect(response);
    if (redirected) throw redirected;
    if (response.ok) return response;
    const { status, headers } = response;
    throw createResponseError(network, { status, headers, bytes: await readBytes(response) }, 1);
  } catch (cause) {
    if (signal.aborted) throw new AbortError(signal.reason);
    if (linked.signal.reason === timeout) throw timeout;
    throw cause instanceof TaskGatewayError ? cause : createConnectionError(request, cause);
  } finally {
    headTimer.abort();
  }
}

/** Redirects are not followed: the secret and the task would be sent to the server they name. */
function validateNoRedirect({ type, status }: Response): ConnectionError | undefined {
  if (type !== 'opaqueredirect' && (status < 300 || status > 399)) return undefined;
  return new ConnectionError(
    'redirected',
    'The server at this address redirects, which is not followed. Set baseUrl to the gateway itself.',
  );
}

/**
 * Creates the error for a request without a response. It does not quote the path, which names a task or a
 * session.
 */
function createConnectionError(request: Request, cause: unknown): ConnectionError {
  const { origin } = new URL(request.url);
  const code = findCode(cause);
  const why = code ? ` (${code})` : '';
  return new ConnectionError(
    'connection_failed',
    `No response from the gateway at ${origin}${why}. Is it running?`,
    { cause },
  );
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
  outcome: Received | TaskGatewayError,
  attempts: number,
  maxRetries: number,
  clock: Clock,
): number | undefined {
  if (attempts > maxRetries) return undefined;
  let askedMs: number | undefined;
  if ('ok' in outcome) {
    if (!isTransient(outcome.status)) return undefined;
    askedMs = readRetryAfter(outcome.headers, clock.nowMs());
    // The call fails at once; its error says how long to wait.
    if (askedMs !== undefined && askedMs > ASKED_MAX_MS) return undefined;
  } else if (outcome.code !== 'connection_failed' && outcome.code !== 'timeout') {
    return undefined;
  }
  return choosePauseMs(clock, BACKOFF, attempts - 1, askedMs);
}
