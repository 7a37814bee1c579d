/**
 * Builds the request of a push: the task as JSON under the headers of Standard Webhooks. The pusher sends it
 * over the network; the simulator gives it to the agents of a test.
 */
import { renderJson } from '../domain/json-text.ts';
import type { Push } from '../ports/pusher.ts';
import type { Signer } from './signature.ts';

export type PushRequest = {
  readonly method: 'POST';
  /** Names in lower case and values, alternating. */
  readonly headers: string[];
  readonly body: Buffer;
};

/**
 * Builds the request that the contract describes. `wallMs` is the time of this host; agents compare it with
 * their own and refuse old requests. Returns an error text if the task cannot be encoded.
 */
export function buildPushRequest(
  push: Push,
  wallMs: number,
  sign: Signer,
  createTraceparent: () => string,
): PushRequest | string {
  const body = encodeBody(push.task);
  if (!body) return 'the task cannot be written as JSON';
  const id = push.task.request_id;
  const timestampSeconds = Math.floor(wallMs / 1_000);
  const headers = [
    ...['content-type', 'application/json', 'content-length', String(body.length)],
    ...['user-agent', 'task-gateway'],
    ...['webhook-id', id, 'webhook-timestamp', String(timestampSeconds)],
    ...['task-remaining', formatSeconds(push.remainingSeconds)],
    ...['traceparent', push.trace?.traceparent ?? createTraceparent()],
  ];
  if (push.trace?.tracestate !== undefined) headers.push('tracestate', push.trace.tracestate);
  const signature = sign(id, timestampSeconds, body);
  if (signature !== null) headers.push('webhook-signature', signature);
  return { method: 'POST', headers, body };
}

/**
 * Should always succeed, because payloads come from JSON and are limited in size. But a push must never
 * throw.
 */
function encodeBody(task: Push['task']): Buffer | undefined {
  try {
    return renderJson(task);
  } catch {
    return undefined;
  }
}

/** Formats as a decimal number, never in exponent form, with at most three decimals. */
function formatSeconds(seconds: number): string {
  return String(Math.max(0, Math.round(seconds * 1_000) / 1_000));
}
