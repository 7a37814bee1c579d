/**
 * Sends a request as often as it needs and turns every way to fail into an error of the kit. It repeats after no
 * answer, 408, 429 and 5xx, so only calls that may be repeated go through here, and all of the client's may: they say
 * "be so" rather than "do once more", and a submission carries an idempotency key.
 */
import { type Clock, linkSignals } from './clock.ts';
import type { Problem } from './contract.ts';
import { AbortError, ConnectionError, createApiError, TaskGatewayError, TimeoutError } from './errors.ts';
import type { Log } from './log.ts';
import type { Redactor } from './secrets.ts';

/** What may be set for one call; what isn't comes from the client's options. */
export type CallOptions = {
  /** Ends the call with an `AbortError`. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds one attempt may take, the answer's body included; 30,000 unless told otherwise. */
  readonly timeoutMs?: number | undefined;
  /** How often a failed attempt is repeated; 4 unless told otherwise, 0 for never. */
  readonly maxRetries?: number | undefined;
  /** Sent along with the request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Told each answer as it came, also those that are repeated: its status, headers and body, which is its own copy. */
  readonly onResponse?: ((response: Response) => void) | undefined;
};

/** The platform's `fetch`, or one that behaves like it. */
export type Fetch = (request: Request, init?: RequestInit) => Promise<Response>;

/** The call options with nothing left open. */
export type Settings = { readonly timeoutMs: number; readonly maxRetries: number };

export type Network = {
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Knows what must not stand in an error's text. */
  readonly redactor: Redactor;
  readonly log: Log;
};

/** What openapi-fetch answers. */
export type Answer<Data> = { readonly data?: Data; readonly error?: unknown; readonly response: Response };

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 8_000;
/** Who asks for more is not waited for: the error says how long it asked for. */
const RETRY_AFTER_MAX_MS = 60_000;

/**
 * Runs one call: `work` builds the request and sends it with the `fetch` it is given. Answers the body, or undefined
 * where there is none. Throws `ApiError`, `ConnectionError`, `TimeoutError` or `AbortError`.
 */
export async function exchange<Data>(
  network: Network,
  options: CallOptions & Settings,
  work: (fetch: (request: Request) => Promise<Response>) => Promise<Answer<Data>>,
): Promise<Data | undefined> {
  if (options.signal?.aborted) throw new AbortError(options.signal.reason);
  const sent = { attempts: 0 };
  const answer = await readAnswer(() => work((request) => sendPatiently(network, options, request, sent)));
  if (answer.response.ok) return answer.data;
  throw refuse(network, answer, sent.attempts);
}

/** A success that isn't JSON comes from somebody else. */
async function readAnswer<Data>(work: () => Promise<Answer<Data>>): Promise<Answer<Data>> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SyntaxError) throw createStrangerError();
    throw error;
  }
}

/** The error for an answer that no gateway would give. */
export function createStrangerError(): ConnectionError {
  return new ConnectionError(
    'not_a_gateway',
    'What answers at this address is not a Task Gateway: its answer makes no sense. Check baseUrl.',
  );
}

/** The error for an answer that says no. */
export function refuse(
  { clock, redactor }: Network,
  { response, error }: Answer<unknown>,
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

async function sendPatiently(
  network: Network,
  options: CallOptions & Settings,
  request: Request,
  sent: { attempts: number },
): Promise<Response> {
  const { clock, log } = network;
  const { signal } = options;
  const what = `${request.method} ${new URL(request.url).pathname}`;
  for (;;) {
    const startMs = clock.nowMs();
    const outcome = await sendOnce(network, options, request.clone());
    sent.attempts += 1;
    const answer = outcome instanceof Response ? String(outcome.status) : outcome.code;
    log('debug', `${what}: ${answer}`, { attempt: sent.attempts, afterMs: clock.nowMs() - startMs });
    const waitMs = sent.attempts > options.maxRetries ? undefined : judgeRetry(outcome, sent.attempts, clock);
    if (waitMs === undefined) {
      if (outcome instanceof Response && outcome.ok) return outcome;
      log(signal?.aborted ? 'debug' : 'warn', `${what} failed: ${answer}`, { attempts: sent.attempts });
      if (outcome instanceof Response) return outcome;
      throw outcome;
    }
    log('info', `${what}: ${answer}, again in ${Math.round(waitMs)} ms`, { attempt: sent.attempts });
    await clock.sleep(waitMs, signal);
    if (signal?.aborted) throw new AbortError(signal.reason);
  }
}

/** One attempt, its body read to the end, within its time. An error is an answer here: the caller may try again. */
async function sendOnce(
  { fetch, clock }: Network,
  { signal, timeoutMs, onResponse }: CallOptions & Settings,
  request: Request,
): Promise<Response | TaskGatewayError> {
  let received: Response;
  const linked = linkSignals(signal);
  const timeout = new TimeoutError(timeoutMs);
  void clock.sleep(timeoutMs, linked.signal).then(() => linked.abort(timeout));
  try {
    const response = await fetch(request, { signal: linked.signal });
    const redirected = judgeRedirect(response);
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
 * One attempt at a stream: the head within `timeoutMs`, the body as it comes, until the signal fires. The signal must
 * be this connection's own and fire at its end.
 */
export async function openOnce(
  { fetch, clock }: Network,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
  request: Request,
): Promise<Response> {
  const linked = linkSignals(signal);
  const waiting = linkSignals(signal);
  const timeout = new TimeoutError(timeoutMs);
  void clock.sleep(timeoutMs, waiting.signal).then(() => waiting.signal.aborted || linked.abort(timeout));
  try {
    const response = await fetch(request, { signal: linked.signal });
    const redirected = judgeRedirect(response);
    if (redirected) throw redirected;
    return response.ok ? response : new Response(await response.arrayBuffer(), response);
  } catch (cause) {
    if (signal.aborted) throw new AbortError(signal.reason);
    if (linked.signal.reason === timeout) throw timeout;
    throw cause instanceof TaskGatewayError ? cause : createConnectionError(request, cause);
  } finally {
    waiting.abort();
  }
}

/** Redirects are not followed: the secret and the task would go to whoever is named there. */
function judgeRedirect({ type, status }: Response): ConnectionError | undefined {
  if (type !== 'opaqueredirect' && (status < 300 || status > 399)) return undefined;
  return new ConnectionError(
    'redirected',
    'The address answers with a redirect, which is not followed. Set baseUrl to where the gateway really is.',
  );
}

/** The error for a request that got no answer. The URL's path stays out of the text: it names a task or session. */
function createConnectionError(request: Request, cause: unknown): ConnectionError {
  const { origin } = new URL(request.url);
  const code = findCode(cause);
  const why = code ? ` (${code})` : '';
  return new ConnectionError(
    'connection_failed',
    `No answer from the gateway at ${origin}${why}. Is it running?`,
    {
      cause,
    },
  );
}

/** The platform's code of a failure, like ECONNREFUSED, wherever in the chain of causes it stands. */
function findCode(cause: unknown): string | undefined {
  for (let error = cause; error instanceof Error; error = error.cause) {
    if ('code' in error && typeof error.code === 'string') return error.code;
  }
  return undefined;
}

/** Milliseconds to wait before the next attempt; undefined if another one makes no sense. */
function judgeRetry(
  outcome: Response | TaskGatewayError,
  attempts: number,
  clock: Clock,
): number | undefined {
  if (outcome instanceof Response) {
    if (!isTransient(outcome.status)) return undefined;
    const askedMs = readRetryAfter(outcome, clock.nowMs());
    if (askedMs === undefined) return backoffMs(attempts, clock);
    return askedMs > RETRY_AFTER_MAX_MS ? undefined : spread(askedMs, clock);
  }
  const transient = outcome.code === 'connection_failed' || outcome.code === 'timeout';
  return transient ? backoffMs(attempts, clock) : undefined;
}

/** Whether the same request may be answered otherwise a little later. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
}

/** 0.5 s, doubling to 8 s, half of it at random so that many clients do not come back together. */
function backoffMs(attempts: number, clock: Clock): number {
  const fullMs = Math.min(BACKOFF_FIRST_MS * 2 ** (attempts - 1), BACKOFF_MAX_MS);
  return fullMs / 2 + (fullMs / 2) * clock.chance();
}

/** Never sooner than asked for, and up to a quarter later. */
function spread(askedMs: number, clock: Clock): number {
  return askedMs * (1 + clock.chance() / 4);
}

/** Milliseconds that `Retry-After` asks for, from seconds or a date. */
function readRetryAfter(response: Response, nowMs: number): number | undefined {
  const text = response.headers.get('retry-after')?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** The problem details of an error body; a secret that was echoed is struck out. */
function readProblem(error: unknown, redactor: Redactor): Problem | undefined {
  return isProblem(error) ? JSON.parse(redactor.strike(JSON.stringify(error))) : undefined;
}

function isProblem(error: unknown): error is Problem {
  if (typeof error !== 'object' || error === null) return false;
  const { code, title, detail } = error as Record<string, unknown>;
  return typeof code === 'string' && typeof title === 'string' && typeof detail === 'string';
}
