/**
 * As much of `node:crypto` as a gateway in memory uses, for the simulator's bundle, which runs without Node:
 * SHA-256 and HMAC by noble, random bytes by the platform.
 */
import { hmac } from '@noble/hashes/hmac';
import { sha256 } from '@noble/hashes/sha2';
import { Buffer } from './node-bytes.ts';

type Encoding = 'base64' | 'base64url' | 'hex' | 'binary';
type Part = string | Uint8Array;

/** A digest, fed part by part. */
type Feed = { update(part: Part): Feed; digest(encoding: Encoding): string };

type Fed = { update(bytes: Uint8Array): unknown; digest(): Uint8Array };

function feed(fed: Fed): Feed {
  const self: Feed = {
    update(part) {
      fed.update(typeof part === 'string' ? new TextEncoder().encode(part) : part);
      return self;
    },
    digest: (encoding) => Buffer.from(fed.digest()).toString(encoding),
  };
  return self;
}

/** The gateway asks for SHA-256 alone. */
export function createHash(_name: 'sha256'): Feed {
  return feed(sha256.create());
}

export function createHmac(_name: 'sha256', key: Uint8Array): Feed {
  return feed(hmac.create(sha256, key));
}

export function hash(_name: 'sha256', text: string, encoding: Encoding): string {
  return Buffer.from(sha256(new TextEncoder().encode(text))).toString(encoding);
}

/** The bytes of a key. */
export function createSecretKey(text: string, encoding: 'utf8' | 'base64'): Uint8Array {
  return Buffer.from(text, encoding);
}

export function timingSafeEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.reduce((differing, byte, index) => differing | (byte ^ (other[index] ?? 0)), 0) === 0;
}

export function randomFillSync<T extends Uint8Array>(bytes: T): T {
  return crypto.getRandomValues(bytes as T & Uint8Array<ArrayBuffer>) as T;
}

export function randomBytes(count: number): Uint8Array {
  return randomFillSync(Buffer.alloc(count));
}

export function randomUUID(): string {
  return crypto.randomUUID();
}
