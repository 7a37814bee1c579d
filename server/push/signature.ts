/**
 * Signs pushes by Standard Webhooks (v1): HMAC-SHA256 over `id.timestamp.body`, in base64. With the secret an
 * agent can verify that the gateway sent this body, and when.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** Signs one message. Returns the value of `webhook-signature`; null if no secret is configured. */
export type Signer = (id: string, timestampSeconds: number, body: Buffer) => string | null;

/**
 * Creates the signer. A secret is `whsec_` and base64, or any other text, of which the UTF-8 bytes are used.
 * With two secrets (during rotation) the header has both signatures, the newest first, so that agents can use
 * either.
 */
export function createSigner(secrets: readonly string[]): Signer {
  const keys = secrets.map(createKey);
  if (keys.length === 0) return () => null;
  return (id, timestampSeconds, body) => {
    const head = `${id}.${timestampSeconds}.`;
    return keys
      .map((key) => `v1,${createHmac('sha256', key).update(head).update(body).digest('base64')}`)
      .join(' ');
  };
}

const BASE64_PREFIX = 'whsec_';

/** Created once for each secret, because signing with plain bytes takes Node five times as long. */
function createKey(secret: string): KeyObject {
  return secret.startsWith(BASE64_PREFIX)
    ? createSecretKey(secret.slice(BASE64_PREFIX.length), 'base64')
    : createSecretKey(secret, 'utf8');
}

/** Whether a secret can sign: non-empty base64 after `whsec_`, or any other text. */
export function isSigningSecret(secret: string): boolean {
  if (!secret.startsWith(BASE64_PREFIX)) return true;
  return /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(
    secret.slice(BASE64_PREFIX.length),
  );
}
