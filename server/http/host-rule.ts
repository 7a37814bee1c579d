/**
 * Which names the gateway may be called by. A web page can give its own name the gateway's address (DNS
 * rebinding): the browser then takes calls of the page for calls to its own site. Such calls carry the page's
 * name in `Host` and its origin in `Origin`. Where no private secret stops the page, both must belong to this
 * machine or be configured: in calls without a secret, and in all calls while the secret is the public
 * default. Probes and documents are not checked, because anyone may read them.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from '../net/networks.ts';
import type { CorsOrigins } from './cors.ts';
import { Problem } from './problems.ts';

/** Throws a `Problem` (421 or 403) if a request must not be served under its `Host` or `Origin`. */
export type RequireHost = (headers: IncomingHttpHeaders) => void;

export type HostRule = {
  /** Applied to each call before anything else is checked. */
  readonly ofEveryCall: RequireHost;
  /** Applied to calls that need no secret and have none. */
  readonly withoutSecret: RequireHost;
};

type KnownNames = {
  /** More names and addresses that the gateway may be called by, without ports. */
  readonly allowedHosts: readonly string[];
  readonly corsOrigins: CorsOrigins;
};

type HostSettings = KnownNames & {
  /** Whether a gateway secret is the public default. */
  readonly isSecretPublic: boolean;
};

const pass: RequireHost = () => {};

/** The error details of refused calls. */
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

/** Creates the rule. A missing `Origin` is allowed, and so is a missing `Host`. */
export function createHostRule({ isSecretPublic, ...known }: HostSettings): HostRule {
  return isSecretPublic
    ? { ofEveryCall: createRequireHost(known, PUBLIC_SECRET), withoutSecret: pass }
    : { ofEveryCall: pass, withoutSecret: createRequireHost(known, NO_SECRET) };
}

/** Creates the check that refuses calls under unknown names and origins. */
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

/** Removes the port of `host:port`; an IPv6 address keeps its brackets. */
function removePort(host: string): string {
  return host.replace(/:\d*$/, '');
}

/** Lowers the case, and removes the brackets of an IPv6 address and the dot at the end of a name. */
function normalizeHost(host: string): string {
  return host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();
}
