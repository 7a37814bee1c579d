/** Verifies that a push comes from the gateway: Standard Webhooks signatures over id, timestamp and body. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The signature headers and the body of a push, as received. */
export type SignedPush = {
  /** `webhook-id`. */
  readonly id: string | undefined;
  /** `webhook-timestamp`: Unix epoch seconds. */
  readonly timestamp: string | undefined;
  /** `webhook-signature`: one or more `v1,` signatures separated by spaces. */
  readonly signature: string | undefined;
  /** The body's bytes, unchanged. */
  readonly body: Uint8Array;
};

/** A push whose timestamp differs more than this from the current time is rejected: it may be a replay. */
const TOLERANCE_MS = 300_000;
const SECRET_PREFIX = 'whsec_';

/**
 * Whether one of the signatures was made with one of the secrets, and the timestamp is at most five minutes
 * from `nowMs` (Unix epoch milliseconds). A secret that begins with `whsec_` is base64 behind that prefix;
 * any other is used as UTF-8 text.
 */
export function isAuthentic(push: SignedPush, secrets: readonly string[], nowMs: number): boolean {
  const { id, timestamp, signature, body } = push;
  if (!id || !timestamp || !signature || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(Number(timestamp) * 1_000 - nowMs) > TOLERANCE_MS) return false;
  const given = signature
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one.slice(3), 'base64'));
  return secrets.some((secret) => {
    const expected = createHmac('sha256', readKey(secret))
      .update(`${id}.${timestamp}.`)
      .update(body)
      .digest();
    return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  });
}

function readKey(secret: string): Buffer {
  return secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    : Buffer.from(secret, 'utf8');
}
