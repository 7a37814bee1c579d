/**
 * What a push came to, from the answer's status line or from the failure in its stead. The contract's table:
 * acknowledged (2xx, 409), untaken (3xx, 4xx but 408 and 409, 429 and 503 as busy, 410 as leave, nothing written), and
 * unknown for everything else. The texts are for the administrator's listing; they never hold a word of the answer.
 */
import { errors } from 'undici';
import type { PushOutcome } from '../ports/pusher.ts';
import { ConnectRefusal } from './connector.ts';

/** Nobody is made to wait longer than this on an agent's word. */
const RETRY_AFTER_MAX_MS = 3_600_000;

/** Reads a final status line (200 or above). */
export function readAnswer(status: number, retryAfter: unknown, nowMs: number): PushOutcome {
  if ((status >= 200 && status < 300) || status === 409) return { kind: 'acknowledged', status };
  const retryAfterMs = readRetryAfterMs(retryAfter, nowMs);
  const error = describeStatus(status);
  const busy = status === 429 || status === 503;
  const untaken = busy || (status >= 300 && status < 500 && status !== 408);
  return untaken
    ? { kind: 'untaken', status, error, busy, leave: status === 410, retryAfterMs }
    : { kind: 'unknown', status, error, retryAfterMs };
}

/** Nothing was written: the agent cannot have the task. */
export function untaken(error: string): PushOutcome {
  return { kind: 'untaken', status: null, error, busy: false, leave: false, retryAfterMs: null };
}

/** Something may have been written and no status line came. */
export function unknown(error: string): PushOutcome {
  return { kind: 'unknown', status: null, error, retryAfterMs: null };
}

/** `Retry-After` as milliseconds from now: whole seconds or an HTTP date, an hour at most; null when it says neither. */
export function readRetryAfterMs(value: unknown, nowMs: number): number | null {
  const text = (Array.isArray(value) ? String(value[0]) : typeof value === 'string' ? value : '').trim();
  if (/^\d{1,12}$/.test(text)) return Math.min(Number(text) * 1_000, RETRY_AFTER_MAX_MS);
  if (!/^[A-Z][a-z]{2,8},? .{10,30}$/.test(text)) return null;
  const atMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? null : Math.min(Math.max(0, atMs - nowMs), RETRY_AFTER_MAX_MS);
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return `answered ${status}: redirects are not followed`;
  if (status === 410) return 'answered 410: gone until it registers or beats';
  if (status === 429 || status === 503) return `answered ${status}: busy`;
  return `answered ${status}`;
}

/** A failure this house raised; its message is meant for people. */
export class AttemptFailure extends Error {
  override readonly name = 'AttemptFailure';
}

/** What to say of a failure, by the moment it struck: before anything was written, or after. */
export function describeFailure(error: unknown, written: boolean): string {
  if (error instanceof AttemptFailure || error instanceof ConnectRefusal) return error.message;
  const code = readCode(error);
  const text = FAILURES[code] ?? (isTlsCode(code) ? `TLS: ${code.toLowerCase()}` : undefined);
  if (text !== undefined && !written) return text;
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError) {
    return 'the answer is not proper HTTP/1.1';
  }
  if (written) return 'the connection was cut before an answer';
  return code === '' ? 'no connection' : `no connection: ${code.toLowerCase()}`;
}

const FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset before anything was written',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  EHOSTDOWN: 'host unreachable',
  ETIMEDOUT: 'no connection in time',
  ENOTFOUND: 'DNS: no such host',
  EAI_AGAIN: 'DNS: no answer',
  ENODATA: 'DNS: no address',
  EMFILE: 'the gateway has no file descriptor left',
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

/** Codes are short words of this process' own libraries; anything else is not repeated. */
function readCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' && /^[A-Z0-9_]{1,60}$/.test(error.code) ? error.code : '';
}

function isTlsCode(code: string): boolean {
  return /^(ERR_(SSL|TLS)_|CERT_|CRL_|UNABLE_TO_)/.test(code);
}
