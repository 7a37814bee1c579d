/**
 * Parsers of settings, such as addresses with a prefix (`10.0.0.0/8`). They are strict: each returns the
 * value, or throws a `Mistake` that says what to write instead.
 */
import { isIP } from 'node:net';
import {
  ADDRESS_EXAMPLES,
  looksLikeRedis,
  parseRedisAddress,
  type RedisAddress,
} from '../engines/redis/client/address.ts';
import { parseNetwork } from '../net/networks.ts';
import { isSigningSecret } from '../push/signature.ts';

/**
 * A value that cannot be used. The message says what is wrong and what to write instead, without the
 * setting's name.
 */
export class Mistake extends Error {
  override readonly name = 'Mistake';
}

export type StoreChoice =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'redis'; readonly address: RedisAddress }
  | { readonly kind: 'memory' };

export function parseHost(text: string): string {
  const bare = text.replace(/^\[(.*)\]$/, '$1');
  if (
    isIP(bare) !== 0 ||
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(bare)
  ) {
    return bare;
  }
  throw new Mistake(
    `${quote(text)} is not an address; write one such as 127.0.0.1, ::1, 0.0.0.0 or a host name`,
  );
}

/** Reads one secret, or two while a secret is being changed: the newest first, separated by a space. */
export function parseSecrets(text: string, parse: (text: string) => string): readonly string[] {
  const [newest = '', previous, ...more] = text.split(' ');
  if (more.length > 0)
    throw new Mistake('has more than one space; write one secret, or the new one, one space and the old one');
  return previous === undefined ? [parse(newest)] : [parse(newest), parse(previous)];
}

/** Reads a secret. Printable ASCII without spaces is valid in JSON, queries and headers. */
export function parseSecret(text: string): string {
  if (!/^[\x21-\x7e]{1,512}$/.test(text)) {
    throw new Mistake(
      'is not 1 to 512 printable ASCII characters (two secrets: one space between them); ' +
        'write what openssl rand -hex 32 prints',
    );
  }
  return text;
}

export function parsePushSecret(text: string): string {
  if (!isSigningSecret(parseSecret(text))) {
    throw new Mistake(
      'starts with whsec_ but is not base64 after it; write whsec_ and base64, or another text',
    );
  }
  return text;
}

export function parseNetworkText(text: string): string {
  if (parseNetwork(text)) return text;
  throw new Mistake(
    `${quote(text)} is not a network; write an address or a network such as 10.0.0.0/8 or fd00::/8`,
  );
}

export function parseOrigin(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && url.origin === text) return text;
  throw new Mistake(
    `${quote(text)} is not an origin; write scheme, host and port only, such as https://app.example.com`,
  );
}

export function parseStore(text: string): StoreChoice {
  if (text === 'memory:') return { kind: 'memory' };
  const file = text.slice('sqlite:'.length);
  if (/^sqlite:(?!\/\/)[^\0]+$/.test(text)) return { kind: 'sqlite', file };
  if (looksLikeRedis(text)) {
    const address = parseRedisAddress(text);
    if ('mistake' in address) throw new Mistake(`${address.mistake}; write ${ADDRESS_EXAMPLES}`);
    return { kind: 'redis', address };
  }
  throw new Mistake(
    `${quote(text)} is not a store; write sqlite:FILE, such as sqlite:./data/gateway.db, redis://HOST:6379 or memory:`,
  );
}

/** Quotes a text for a message: short, on one line, and without the credentials of a URL. */
export function quote(text: string): string {
  const plain = text.replace(/\/\/.*@/, '//…@');
  return JSON.stringify(plain.length > 60 ? `${plain.slice(0, 60)}…` : plain);
}
