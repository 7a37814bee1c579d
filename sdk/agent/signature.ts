/** Whether a push really comes from the gateway: Standard Webhooks signatures over id, time and body. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The headers and body of a push, as received. */
export type SignedPush = {
  /** `webhook-id`. */
  readonly id: string | undefined;
  /** `webhook-timestamp`: Unix epoch seconds. */
  readonly timestamp: string | undefined;
  /** `webhook-signature`: one or more `v1,` signatures separated by spaces. */
  readonly signature: string | undefined;
  /** The bytes as they came. */
  readonly body: Uint8Array;
};

/** A push older or newer than this is refused: it may be a recording. */
const TOLERANCE_MS = 300_000;
const SECRET_PREFIX = 'whsec_';

/**
 * Whether one of the signatures was made with one of the secrets and the push is of now. A secret that begins with
 * `whsec_` is base64 after it, any other is taken as it is.
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
    const right = createHmac('sha256', readKey(secret)).update(`${id}.${timestamp}.`).update(body).digest();
    return given.some((one) => one.length === right.length && timingSafeEqual(one, right));
  });
}

function readKey(secret: string): Buffer {
  return secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    : Buffer.from(secret, 'utf8');
}
