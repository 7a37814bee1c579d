/** Verifies that a push comes from the gateway: Standard Webhooks signatures over id, timestamp and body. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The signature headers and the body of a push, as received. */
export type SignedPush = {
  /** The header `webhook-id`. */
  readonly id: string | undefined;
  /** The header `webhook-timestamp`: Unix epoch seconds. */
  readonly timestamp: string | undefined;
  /** The header `webhook-signature`: one or more `v1,` signatures, separated by spaces. */
  readonly signature: string | undefined;
  /** The body's bytes, unchanged. */
  readonly body: Uint8Array;
};

/** A push whose timestamp is further than this from now is rejected, because it may be a replay. */
const TOLERANCE_MS = 300_000;
const SECRET_PREFIX = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/**
 * Whether a secret can sign, by the gateway's own rule: `whsec_` and base64 that is not empty, or any other
 * text that is not empty. Anything else would count as the empty key, which everyone has.
 */
export function isSigningSecret(secret: string): boolean {
  if (typeof secret !== 'string' || secret === '') return false;
  return !secret.startsWith(SECRET_PREFIX) || BASE64.test(secret.slice(SECRET_PREFIX.length));
}

/**
 * Whether one of the signatures was made with one of the secrets, and the timestamp is at most five minutes
 * from `nowMs` (Unix epoch milliseconds). A secret that begins with `whsec_` is base64 after that prefix; any
 * other is used as UTF-8 text. A secret that can't sign, such as an empty one, verifies nothing.
 */
export function isAuthentic(push: SignedPush, secrets: readonly string[], nowMs: number): boolean {
  return findRefusal(push, secrets, nowMs) === null;
}

/** Returns why a push is not authentic, for the agent's log; null if it is. */
export function findRefusal(push: SignedPush, secrets: readonly string[], nowMs: number): string | null {
  const { id, timestamp, signature, body } = push;
  if (!id || !timestamp || !signature || !/^\d{1,12}$/.test(timestamp)) return 'it is not signed';
  const offMs = Number(timestamp) * 1_000 - nowMs;
  if (Math.abs(offMs) > TOLERANCE_MS) {
    const off = `${Math.round(Math.abs(offMs) / 1_000)} s ${offMs < 0 ? 'behind' : 'ahead of'}`;
    return `its timestamp is ${off} the clock of this agent, and may be ${TOLERANCE_MS / 1_000} s`;
  }
  const given = signature
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one.slice(3), 'base64'));
  const isSigned = secrets.filter(isSigningSecret).some((secret) => {
    const expected = createHmac('sha256', readKey(secret))
      .update(`${id}.${timestamp}.`)
      .update(body)
      .digest();
    return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  });
  return isSigned ? null : 'its signature does not match the push secret of this agent';
}

function readKey(secret: string): Buffer {
  return secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    : Buffer.from(secret, 'utf8');
}
