/**
 * The one rule for every pause before another attempt: of the calls, the streams and the agent.
 *
 * The pause doubles with each failure, from the first one of its kind to the longest. Half of it is random,
 * so that many clients do not come back at the same moment. If the server asks for a pause (`Retry-After`,
 * `retry:`), this can only lengthen it, and at most a minute counts: no server can make a client call in a
 * loop, or never again.
 */
import type { Clock } from './clock.ts';
import { ApiError, TaskGatewayError } from './errors.ts';

/** The pauses of one kind of attempt: the first one and the longest one. Half of each is random. */
export type Backoff = { readonly firstMs: number; readonly maxMs: number };

/** The longest pause that a server can ask for. */
export const ASKED_MAX_MS = 60_000;
/**
 * The least time between the starts of two calls that the server should hold until there is news, and did
 * not.
 */
export const HELD_EVERY_MS = 1_000;

/** Returns the milliseconds before the next attempt; `failures` is 0 after the first failure. */
export function choosePauseMs(
  clock: Clock,
  { firstMs, maxMs }: Backoff,
  failures: number,
  askedMs = 0,
): number {
  const ownMs = Math.min(firstMs * 2 ** failures, maxMs);
  const random = clock.chance();
  return Math.max(ownMs * (0.5 + random / 2), Math.min(askedMs, ASKED_MAX_MS) * (1 + random / 4));
}

/** Returns the milliseconds that `Retry-After` asks for, in seconds or as a date. */
export function readRetryAfter(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get('retry-after')?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** Whether the same attempt may succeed a little later, after this error. */
export function checkTransient(error: unknown): error is TaskGatewayError {
  if (error instanceof ApiError) return isTransient(error.status);
  return error instanceof TaskGatewayError && /^(connection_failed|timeout)$/.test(error.code);
}

/** Whether the same request may succeed a little later, after this status. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
}
