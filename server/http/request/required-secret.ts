/** Where a request must carry a secret, and what is refused when it is missing or wrong. */
import type { IncomingMessage } from 'node:http';
import { Problem } from '../problems.ts';
import type { Operation } from './contract.ts';
import type { Query } from './query.ts';
import type { Secrets } from './secrets.ts';

type SecretRules = {
  readonly secrets: Secrets;
  /** Whether agents must send the secret with every call. */
  readonly isAgentAuthRequired: boolean;
};

/**
 * A secret in the query counts for every gateway operation; the `Authorization` header only where it is
 * documented. Returns whether a right one was sent.
 */
export function requireSecret(
  secrets: Secrets,
  { secret }: Operation,
  query: Query,
  req: IncomingMessage,
): boolean {
  if (secret === 'admin') {
    if (!secrets.isAdminSecret(readHeader(req, 'X-Admin-Auth'))) {
      throw unauthorized('Send the administrator’s secret in the header X-Admin-Auth.', 'X-Admin-Auth');
    }
    return true;
  }
  const inQuery = query.get('auth');
  const bearer = inQuery || secret === 'body' ? undefined : readBearer(req);
  if (inQuery) {
    // A repeated secret is not a right one.
    if (inQuery.length === 1 && secrets.isGatewaySecret(inQuery[0])) return true;
    throw unauthorized('The query parameter `auth` is not the gateway secret.');
  }
  if (bearer === undefined && secret !== 'required') return false;
  if (bearer === undefined) {
    throw unauthorized('Send the gateway secret as query parameter `auth` or as Authorization: Bearer.');
  }
  if (!secrets.isGatewaySecret(bearer)) {
    throw unauthorized('The Authorization header does not carry the gateway secret.');
  }
  return true;
}

/**
 * Returns whether the body carries the secret, or may leave it out because query or header carry it; throws
 * a 401 when it carries a wrong one. That a required one is missing is found by the schema.
 */
export function requireBodySecret(
  { secrets, isAgentAuthRequired }: SecretRules,
  rule: 'required' | 'optional',
  body: unknown,
  hasSecret: boolean,
): boolean {
  const auth = isObject(body) ? body.auth : undefined;
  if (secrets.isGatewaySecret(auth)) return true;
  if (typeof auth === 'string') throw unauthorized('The field `auth` is not the gateway secret.');
  if (rule === 'optional' && hasSecret) return true;
  if (rule === 'optional' && isAgentAuthRequired) {
    throw unauthorized(
      'Send the gateway secret in the field `auth` or as Authorization: Bearer: this gateway requires it of agents.',
    );
  }
  return false;
}

function unauthorized(detail: string, scheme = 'Bearer'): Problem {
  return new Problem('unauthorized', detail, { headers: { 'WWW-Authenticate': scheme } });
}

/** A header by its name; of several with the name, all. */
export function readHeader({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value.join(', ') : value;
}

function readBearer({ headers: { authorization } }: IncomingMessage): string | undefined {
  return authorization === undefined ? undefined : /^bearer +(.*)$/i.exec(authorization)?.[1];
}

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
