/**
 * Classifies a push by the response's status line, or by the failure that came instead. The contract's table:
 *
 *   acknowledged   2xx, 409
 *   untaken        nothing was written; 3xx; 4xx except 408 and 409 (429 is also `busy`, 410 also `leave`);
 *                  503, which is also `busy`
 *   unknown        everything else
 *
 * Administrators read the error texts. They never contain text that the agent sent.
 */
import type { PushOutcome } from '../ports/pusher.ts';

/**
 * Classifies a response by its final status (200 or above).
 *
 * @param retryAfter the value of the `Retry-After` header, whatever the agent sent
 * @param wallMs the time of this host, to which an HTTP date in `Retry-After` is relative
 */
export function classifyResponse(status: number, retryAfter: unknown, wallMs: number): PushOutcome {
  if ((status >= 200 && status < 300) || status === 409) return { kind: 'acknowledged', status };
  const retryAfterMs = parseRetryAfterMs(retryAfter, wallMs);
  const error = describeStatus(status);
  const busy = status === 429 || status === 503;
  const untaken = busy || (status >= 300 && status < 500 && status !== 408);
  return untaken
    ? { kind: 'untaken', status, error, busy, leave: status === 410, retryAfterMs }
    : { kind: 'unknown', status, error, retryAfterMs };
}

/** Builds the outcome of an attempt that wrote nothing: the agent cannot have the task. */
export function buildUntaken(error: string): PushOutcome {
  return { kind: 'untaken', status: null, error, busy: false, leave: false, retryAfterMs: null };
}

/** Builds the outcome of an attempt that may have been written and got no status line. */
export function buildUnknown(error: string): PushOutcome {
  return { kind: 'unknown', status: null, error, retryAfterMs: null };
}

/**
 * Parses `Retry-After` (whole seconds or an HTTP date) into milliseconds from now; `retryPauseMs()` limits
 * the pause later. Returns null for any other value.
 */
export function parseRetryAfterMs(value: unknown, nowMs: number): number | null {
  const text = (Array.isArray(value) ? String(value[0]) : typeof value === 'string' ? value : '').trim();
  if (/^\d{1,12}$/.test(text)) return Number(text) * 1_000;
  if (!/^[A-Z][a-z]{2,8},? .{10,30}$/.test(text)) return null;
  const atMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return `answered ${status}: redirects are not followed`;
  if (status === 401) return 'answered 401: signature refused';
  if (status === 410) return 'answered 410: offline until it registers or sends a heartbeat';
  if (status === 429 || status === 503) return `answered ${status}: busy`;
  return `answered ${status}`;
}

/** A failure that the gateway itself raised during an attempt. Its message is written for people. */
export class AttemptFailure extends Error {
  override readonly name = 'AttemptFailure';
}

/** Describes a failure in a few words. `written` says whether the request may have reached the agent. */
export function describeFailure(error: unknown, written: boolean): string {
  if (error instanceof AttemptFailure) return error.message;
  const code = readErrorCode(error);
  const text = FAILURES[code] ?? (isTlsCode(code) ? `TLS: ${code.toLowerCase()}` : undefined);
  if (text !== undefined && !written) return text;
  if (error instanceof Error && INVALID_RESPONSES.has(error.name)) {
    return 'the response is not valid HTTP/1.1';
  }
  if (written) return 'the connection was cut before a response';
  return code === '' ? 'no connection' : `no connection: ${code.toLowerCase()}`;
}

/** Names of undici's errors for responses that are not valid HTTP. */
const INVALID_RESPONSES: ReadonlySet<string> = new Set(['HTTPParserError', 'HeadersOverflowError']);

const FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset before anything was written',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  EHOSTDOWN: 'host unreachable',
  ETIMEDOUT: 'no connection in time',
  ENOTFOUND: 'DNS: no such host',
  EAI_AGAIN: 'DNS: no response',
  ENODATA: 'DNS: no address',
  EMFILE: 'the gateway has no file descriptors left',
  EADDRNOTAVAIL: 'no local port or address to connect from',
  UND_ERR_MAX_ORIGINS_REACHED: 'too many endpoints at once',
  UND_ERR_DESTROYED: 'the gateway is shutting down',
  UND_ERR_CLOSED: 'the gateway is shutting down',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS: self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS: self-signed certificate in the chain',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS: certificate of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'TLS: certificate of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'TLS: certificate of an unknown authority',
  CERT_HAS_EXPIRED: 'TLS: certificate has expired',
  CERT_NOT_YET_VALID: 'TLS: certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: certificate is for another host',
  ERR_SSL_WRONG_VERSION_NUMBER: 'TLS: the endpoint does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'TLS: the endpoint does not speak TLS',
  EPROTO: 'TLS: the handshake failed',
};

/** Reads the code of an error of Node or its libraries. A code of any other form is not repeated. */
function readErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' && /^[A-Z0-9_]{1,60}$/.test(error.code) ? error.code : '';
}

function isTlsCode(code: string): boolean {
  return /^(ERR_(SSL|TLS)_|CERT_|CRL_|UNABLE_TO_)/.test(code);
}
