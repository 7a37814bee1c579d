/**
 * The address of a Redis or Valkey and its credentials, read from one URL:
 *
 *   redis://user:password@host:6379/0                                   also valkey://
 *   rediss://…                                                          over TLS; also valkeys://
 *   redis+sentinel://user:password@host1:26379,host2:26379/master/0     also rediss+sentinel://
 *
 * The description of a mistake is one sentence and never contains a secret.
 */
export type Endpoint = { readonly host: string; readonly port: number };

export type RedisAddress = {
  readonly tls: boolean;
  readonly username: string | null;
  readonly password: string | null;
  readonly database: number;
  /** The server itself; or the Sentinels that know its address, and their name for the server. */
  readonly at:
    | { readonly kind: 'one'; readonly endpoint: Endpoint }
    | { readonly kind: 'sentinel'; readonly endpoints: readonly Endpoint[]; readonly master: string };
};

const SCHEME = /^(redis|valkey)(s?)(\+sentinel)?:\/\//;
const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;
const DATABASE_MAX = 65_535;

export const ADDRESS_EXAMPLES =
  'redis://HOST:6379, rediss://USER:PASSWORD@HOST:6379/0 or redis+sentinel://HOST1:26379,HOST2:26379/MASTER';

export function looksLikeRedis(text: string): boolean {
  return /^(redis|valkey)s?(\+sentinel)?:/.test(text);
}

/**
 * Reads an address. `mistake` says what is wrong with the text, as a sentence that begins with the setting's
 * name.
 */
export function parseRedisAddress(text: string): RedisAddress | { readonly mistake: string } {
  const scheme = SCHEME.exec(text);
  if (!scheme) return { mistake: 'is not the address of a Redis server' };
  const [authority = '', ...path] = text.slice(scheme[0].length).split('/');
  if (/[?#]/.test(text)) return { mistake: 'has a query or a fragment, which is not supported' };
  const at = authority.lastIndexOf('@');
  const [username, password] = readCredentials(authority.slice(0, Math.max(0, at)));
  const isSentinel = scheme[3] !== undefined;
  const hosts = authority.slice(at + 1).split(',');
  const endpoints = hosts.map((host) => parseEndpoint(host, isSentinel ? SENTINEL_PORT : REDIS_PORT));
  const valid = endpoints.filter((endpoint) => endpoint !== undefined);
  if (valid.length < hosts.length) return { mistake: 'has an invalid host or port' };
  if (username === undefined || password === undefined)
    return { mistake: 'has credentials that are not percent-encoded' };
  const master = isSentinel ? decode(path.shift() ?? '') : undefined;
  const database = readDatabase(path);
  if (database === undefined) return { mistake: 'has a database that is not a number' };
  const shared = { tls: scheme[2] === 's', username, password, database };
  if (!isSentinel) {
    const [endpoint, ...more] = valid;
    if (!endpoint || more.length > 0)
      return { mistake: 'has several hosts, which only an address of Sentinels may have' };
    return { ...shared, at: { kind: 'one', endpoint } };
  }
  if (!master) return { mistake: 'does not name the master that the Sentinels watch' };
  return { ...shared, at: { kind: 'sentinel', endpoints: valid, master } };
}

/** The address without credentials, for logs and terminals. */
export function describeAddress({ at, database }: RedisAddress): string {
  const where =
    at.kind === 'one'
      ? describeEndpoint(at.endpoint)
      : `${at.master} of the Sentinels ${at.endpoints.map(describeEndpoint).join(', ')}`;
  return database === 0 ? where : `${where}, database ${database}`;
}

export function describeEndpoint({ host, port }: Endpoint): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function parseEndpoint(text: string, defaultPort: number): Endpoint | undefined {
  const found = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]@\s]+))(?::(\d{1,5}))?$/.exec(text);
  const host = found?.[1] ?? found?.[2];
  const port = found?.[3] === undefined ? defaultPort : Number(found[3]);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** Each is null if it is absent, and undefined if it is not percent-encoded. */
function readCredentials(
  text: string,
): readonly [username: string | null | undefined, password: string | null | undefined] {
  if (text === '') return [null, null];
  const colon = text.indexOf(':');
  if (colon < 0) return [decode(text), null];
  return [colon === 0 ? null : decode(text.slice(0, colon)), decode(text.slice(colon + 1))];
}

function readDatabase(path: readonly string[]): number | undefined {
  const [text = '', ...more] = path;
  if (more.length > 0) return undefined;
  if (text === '') return 0;
  const database = Number(text);
  return /^\d{1,5}$/.test(text) && database <= DATABASE_MAX ? database : undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
