/**
 * Which names the gateway may be called by. A web page can give a name of its own the gateway's address (DNS
 * rebinding): the browser then sends the page's calls here as calls to its own site. Such calls carry the
 * page's name in `Host` and its origin in `Origin`. So both must belong to this machine or be configured
 * where no secret of one's own stops the page: in a call that needs none and has none, and in every call
 * while the secret is the public default one. The probes and documents, which anyone may read, ask for
 * neither.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from '../net/networks.ts';
import type { CorsOrigins } from './cors.ts';
import { Problem } from './problems.ts';

/** Throws a `Problem` (421 or 403) for a request that must not be served under its `Host` or `Origin`. */
export type RequireHost = (headers: IncomingHttpHeaders) => void;

/** Which calls must come under a known `Host` and `Origin`. */
export type HostRule = {
  /** Asked of each, before anything else is known of it. */
  readonly ofEveryCall: RequireHost;
  /** Asked of one that needs no secret and has none. */
  readonly withoutSecret: RequireHost;
};

type KnownNames = {
  /** Further names and addresses that the gateway may be called by, without ports. */
  readonly allowedHosts: readonly string[];
  readonly corsOrigins: CorsOrigins;
};

type HostSettings = KnownNames & {
  /** Whether one of the gateway secrets is the default one, which everybody knows. */
  readonly isSecretPublic: boolean;
};

const pass: RequireHost = () => {};

/** The sentences with which a call is refused. */
type Refusals = { readonly misdirected: string; readonly origin_not_allowed: string };

const REMEDY = 'set GATEWAY_AUTH to a secret of your own';
const PUBLIC_SECRET: Refusals = {
  misdirected: `With the default secret the gateway serves its own machine alone. Call it as 127.0.0.1 or localhost, ${REMEDY}, or add this name to ALLOWED_HOSTS.`,
  origin_not_allowed: `With the default secret web pages of other origins are not served. On the gateway ${REMEDY}, or add the origin to CORS_ORIGINS.`,
};
const NO_SECRET: Refusals = {
  misdirected:
    'Under this name the gateway serves no call without a secret. Send the secret, call it as 127.0.0.1 or localhost, or add this name to ALLOWED_HOSTS.',
  origin_not_allowed:
    'To web pages of other origins the gateway serves no call without a secret. Send the secret, or add the origin to CORS_ORIGINS.',
};

/** Creates the rule. A request of HTTP/1.0 needs no `Host`, and none needs an `Origin`. */
export function createHostRule({ isSecretPublic, ...known }: HostSettings): HostRule {
  return isSecretPublic
    ? { ofEveryCall: createRequireHost(known, PUBLIC_SECRET), withoutSecret: pass }
    : { ofEveryCall: pass, withoutSecret: createRequireHost(known, NO_SECRET) };
}

/** Creates what refuses calls under other names and origins than the known ones. */
export function createRequireHost({ allowedHosts, corsOrigins }: KnownNames, says: Refusals): RequireHost {
  const allowed = new Set(allowedHosts.map(normalizeHost));
  const isAllowed = (host: string): boolean => allowed.has(host) || isLoopback(host);

  function isAllowedOrigin(origin: string): boolean {
    if (corsOrigins.includes('*') || corsOrigins.includes(origin)) return true;
    const hostname = URL.parse(origin)?.hostname;
    return hostname !== undefined && isAllowed(normalizeHost(hostname));
  }

  return ({ host, origin }) => {
    if (host !== undefined && !isAllowed(normalizeHost(removePort(host)))) {
      throw new Problem('misdirected', says.misdirected);
    }
    if (origin !== undefined && !isAllowedOrigin(origin)) {
      throw new Problem('origin_not_allowed', says.origin_not_allowed);
    }
  };
}

/** The host of `host:port`; an IPv6 address keeps its brackets. */
function removePort(host: string): string {
  return host.replace(/:\d*$/, '');
}

/** Lower case, without the brackets of an IPv6 address and the dot of a complete name. */
function normalizeHost(host: string): string {
  return host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();
}
