/**
 * Which names the gateway may be called by while its secret is the public default one. A web page can give a
 * name of its own the gateway's address (DNS rebinding): the browser then sends the page's calls here as
 * calls to its own site, and the public secret is no obstacle. Such calls carry the page's name in `Host` and
 * its origin in `Origin`, so both must belong to this machine or be configured. With a secret of one's own
 * there is nothing to refuse, and the probes and documents, which anyone may read, ask for neither.
 */

import { isLoopback } from '../net/networks.ts';
import type { CorsOrigins, RequireHost } from './answers.ts';
import { Problem } from './problems.ts';

export type HostSettings = {
  /** Whether one of the gateway secrets is the default one, which everybody knows. */
  readonly isSecretPublic: boolean;
  /** Further names and addresses that the gateway may be called by, without ports. */
  readonly allowedHosts: readonly string[];
  readonly corsOrigins: CorsOrigins;
};

const REMEDY = 'set GATEWAY_AUTH to a secret of your own';

/** Creates the rule. A request of HTTP/1.0 needs no `Host`, and none needs an `Origin`. */
export function createHostRule({ isSecretPublic, allowedHosts, corsOrigins }: HostSettings): RequireHost {
  if (!isSecretPublic) return () => {};
  const allowed = new Set(allowedHosts.map(normalizeHost));
  const isAllowed = (host: string): boolean => allowed.has(host) || isLoopback(host);

  function isAllowedOrigin(origin: string): boolean {
    if (corsOrigins.includes('*') || corsOrigins.includes(origin)) return true;
    const hostname = URL.parse(origin)?.hostname;
    return hostname !== undefined && isAllowed(normalizeHost(hostname));
  }

  return ({ host, origin }) => {
    if (host !== undefined && !isAllowed(normalizeHost(removePort(host)))) {
      throw new Problem(
        'misdirected',
        `With the default secret the gateway serves its own machine alone. Call it as 127.0.0.1 or localhost, ${REMEDY}, or add this name to ALLOWED_HOSTS.`,
      );
    }
    if (origin !== undefined && !isAllowedOrigin(origin)) {
      throw new Problem(
        'origin_not_allowed',
        `With the default secret web pages of other origins are not served. On the gateway ${REMEDY}, or add the origin to CORS_ORIGINS.`,
      );
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
