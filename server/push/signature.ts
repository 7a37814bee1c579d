/**
 * Signs pushes as Standard Webhooks (v1) asks: HMAC-SHA256 over `id.timestamp.body`, in base64. An agent that knows
 * the secret knows that the gateway sent this body, and when.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** Signs one message; null when no secret is configured. */
export type Signer = (id: string, timestampSeconds: number, body: Buffer) => string | null;

/**
 * Creates the signer. A secret is `whsec_` and base64, or any other text taken as its UTF-8 bytes. With two secrets
 * (rotation) the header carries both signatures, the newest first, so that either is right.
 */
export function createSigner(secrets: readonly string[]): Signer {
  const keys = secrets.map(readKey);
  if (keys.length === 0) return () => null;
  return (id, timestampSeconds, body) => {
    const head = `${id}.${timestampSeconds}.`;
    return keys
      .map((key) => `v1,${createHmac('sha256', key).update(head).update(body).digest('base64')}`)
      .join(' ');
  };
}

const BASE64_PREFIX = 'whsec_';

/** Imported once: with the bare bytes each signature would import them anew, which takes five times as long. */
function readKey(secret: string): KeyObject {
  return secret.startsWith(BASE64_PREFIX)
    ? createSecretKey(secret.slice(BASE64_PREFIX.length), 'base64')
    : createSecretKey(secret, 'utf8');
}

/** Whether a secret that opens with `whsec_` goes on as base64 and holds a key; any other secret is fine. */
export function isSigningSecret(secret: string): boolean {
  if (!secret.startsWith(BASE64_PREFIX)) return true;
  return /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(
    secret.slice(BASE64_PREFIX.length),
  );
}
