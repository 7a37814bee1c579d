/**
 * Sends a request with retries and turns every failure into an error of the SDK. It retries when there is no response,
 * and after 408, 429 and 5xx. So only idempotent calls may go through here. All of the client's calls are: a submission
 * carries an idempotency key, and the others set a state instead of adding to it.
 */
import { type Clock, linkSignals } from './clock.ts';
import type { Problem } from './contract.ts';
import { AbortError, ConnectionError, createApiError, TaskGatewayError, TimeoutError } from './errors.ts';
import type { Log } from './log.ts';
import type { Redactor } from './secrets.ts';

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
  /** Called with a copy of each response, including those that are followed by a retry. The body may be read. */
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

/** What a request function of openapi-fetch resolves to. */
export type FetchResult<Data> = {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
};

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 8_000;
/** When `Retry-After` asks for more than this, the call fails at once; its error says how long to wait. */
const RETRY_AFTER_MAX_MS = 60_000;

/**
 * Makes one call: `request` builds the request and sends it with the `fetch` it is given. Returns the response's body,
 * or undefined if it has none. Throws `ApiError`, `ConnectionError`, `TimeoutError` or `AbortError`.
 */
export async function exchange<Data>(
  network: Network,
  options: CallOptions & CallSettings,
  request: (fetch: (request: Request) => Promise<Response>) => Promise<FetchResult<Data>>,
): Promise<Data | undefined> {
  if (options.signal?.aborted) throw new AbortError(options.signal.reason);
  const sent = { attempts: 0 };
  const result = await requireJson(() => request((one) => sendWithRetries(network, options, one, sent)));
  if (result.response.ok) return result.data;
  throw createResponseError(network, result, sent.attempts);
}

/** A successful response that isn't JSON was not sent by a gateway. */
async function requireJson<Data>(request: () => Promise<FetchResult<Data>>): Promise<FetchResult<Data>> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof SyntaxError) throw createNotGatewayError();
    throw error;
  }
}

/** Creates the error for a response that a gateway would not send. */
export function createNotGatewayError(): ConnectionError {
  return new ConnectionError(
    'not_a_gateway',
    'The server at this address is not a Task Gateway: its response is not valid. Check baseUrl.',
  );
}

/** Creates the error for an error response. */
export function createResponseError(
  { clock, redactor }: Network,
  { response, error }: FetchResult<unknown>,
  attempts: number,
): TaskGatewayError {
  return createApiError({
    status: response.status,
    problem: readProblem(error, redactor),
    retryAfterMs: readRetryAfter(response, clock.nowMs()),
    attempts,
    headers: response.headers,
  });
}

async function sendWithRetries(
  network: Network,
  options: CallOptions & CallSettings,
  request: Request,
  sent: { attempts: number },
): Promise<Response> {
  const { clock, log } = network;
  const { signal } = options;
  const call = `${request.method} ${new URL(request.url).pathname}`;
  for (;;) {
    const startMs = clock.nowMs();
    const outcome = await sendOnce(network, options, request.clone());
    sent.attempts += 1;
    const status = outcome instanceof Response ? String(outcome.status) : outcome.code;
    log('debug', `${call}: ${status}`, { attempt: sent.attempts, afterMs: clock.nowMs() - startMs });
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

/** Makes one attempt within its timeout, reading the whole body. Returns an error instead of throwing, for the retries. */
async function sendOnce(
  { fetch, clock }: Network,
  { signal, timeoutMs, onResponse }: CallOptions & CallSettings,
  request: Request,
): Promise<Response | TaskGatewayError> {
  let received: Response;
  const linked = linkSignals(signal);
  const timeout = new TimeoutError(timeoutMs);
  void clock.sleep(timeoutMs, linked.signal).then(() => linked.abort(timeout));
  try {
    const response = await fetch(request, { signal: linked.signal });
    const redirected = validateNoRedirect(response);
    if (redirected) return redirected;
    const body = await response.arrayBuffer();
    const { status, statusText, headers } = response;
    received = new Response(body.byteLength > 0 ? body : null, { status, statusText, headers });
  } catch (cause) {
    if (signal?.aborted) return new AbortError(signal.reason);
    if (linked.signal.reason === timeout) return timeout;
    return createConnectionError(request, cause);
  } finally {
    linked.abort();
  }
  onResponse?.(received.clone());
  return received;
}

/**
 * Opens a stream with one attempt. The response's head must arrive within `timeoutMs`; the body then streams until the
 * signal fires. The signal must belong to this connection alone and fire at its end.
 */
export async function openOnce(
  { fetch, clock }: Network,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
  request: Request,
): Promise<Response> {
  const linked = linkSignals(signal);
  const headTimer = linkSignals(signal);
  const timeout = new TimeoutError(timeoutMs);
  void clock.sleep(timeoutMs, headTimer.signal).then(() => headTimer.signal.aborted || linked.abort(timeout));
  try {
    const response = await fetch(request, { signal: linked.signal });
    const redirected = validateNoRedirect(response);
    if (redirected) throw redirected;
    return response.ok ? response : new Response(await response.arrayBuffer(), response);
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

/** Creates the error for a request without a response. It does not quote the path, which names a task or a session. */
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
  outcome: Response | TaskGatewayError,
  attempts: number,
  maxRetries: number,
  clock: Clock,
): number | undefined {
  if (attempts > maxRetries) return undefined;
  if (outcome instanceof Response) {
    if (!isTransient(outcome.status)) return undefined;
    const askedMs = readRetryAfter(outcome, clock.nowMs());
    if (askedMs === undefined) return backoffMs(attempts, clock);
    return askedMs > RETRY_AFTER_MAX_MS ? undefined : addJitter(askedMs, clock);
  }
  const transient = outcome.code === 'connection_failed' || outcome.code === 'timeout';
  return transient ? backoffMs(attempts, clock) : undefined;
}

/** Whether the same request may succeed a little later. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
}

/** 0.5 s, doubling up to 8 s; half of it is random, so that many clients do not retry at the same time. */
function backoffMs(attempts: number, clock: Clock): number {
  const fullMs = Math.min(BACKOFF_FIRST_MS * 2 ** (attempts - 1), BACKOFF_MAX_MS);
  return fullMs / 2 + (fullMs / 2) * clock.chance();
}

/** Adds up to a quarter to a delay that was asked for, and never shortens it. */
export function addJitter(askedMs: number, clock: Clock): number {
  return askedMs * (1 + clock.chance() / 4);
}

/** Returns the milliseconds that `Retry-After` asks for, given there as seconds or as a date. */
function readRetryAfter(response: Response, nowMs: number): number | undefined {
  const text = response.headers.get('retry-after')?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** Returns the problem details of an error body. A secret that the server echoed is redacted. */
function readProblem(error: unknown, redactor: Redactor): Problem | undefined {
  return isProblem(error) ? JSON.parse(redactor.redact(JSON.stringify(error))) : undefined;
}

function isProblem(error: unknown): error is Problem {
  if (typeof error !== 'object' || error === null) return false;
  const { code, title, detail } = error as Record<string, unknown>;
  return typeof code === 'string' && typeof title === 'string' && typeof detail === 'string';
}
