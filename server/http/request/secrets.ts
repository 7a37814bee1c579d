/**
 * The two shared secrets: where a request must carry one, and what happens if it is missing or wrong. Digests
 * are compared in constant time. Two secrets of each kind may be valid at once, so that a secret can be
 * changed without an interruption. An empty secret never matches.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '../../domain/json-value.ts';
import { type FieldError, Problem } from '../problems.ts';
import type { Operation, Query } from './contract.ts';

export type Secrets = {
  /** Whether the text is a secret for the calls of clients and agents. */
  isGatewaySecret(text: unknown): boolean;
  /** Whether the text is a secret for the administrator's calls. */
  isAdminSecret(text: unknown): boolean;
};

/** Keeps digests only. An administrator's secret that equals a gateway secret is not accepted. */
export function createSecrets(secrets: {
  readonly gateway: readonly string[];
  readonly admin: readonly string[];
}): Secrets {
  const gateway = secrets.gateway.filter((secret) => secret !== '').map(digest);
  const admin = secrets.admin
    .filter((secret) => secret !== '' && !secrets.gateway.includes(secret))
    .map(digest);
  return {
    isGatewaySecret: (text) => isAmong(gateway, text),
    isAdminSecret: (text) => isAmong(admin, text),
  };
}

function isAmong(digests: readonly Buffer[], text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const candidate = digest(text);
  let isEqual = false;
  // All are compared, so that the time does not show which secret matched.
  for (const secret of digests) isEqual = timingSafeEqual(secret, candidate) || isEqual;
  return isEqual;
}

/** Hashes to a text first: Node needs only a third of the time for that. */
function digest(text: string): Buffer {
  return Buffer.from(hash('sha256', text, 'binary'), 'binary');
}

type SecretRules = {
  readonly secrets: Secrets;
  readonly isAgentAuthRequired: boolean;
};

const ADMIN_DETAIL = 'Send the administrator’s secret in the header X-Admin-Auth.';

/** The right secrets that a request carries in its query and headers. */
export type SentSecrets = {
  readonly hasSecret: boolean;
  /** The administrator's secret; also `none` if the operation does not accept it. */
  readonly admin: 'right' | 'wrong' | 'none';
};

/**
 * Checks the secrets of a request. The query may carry the gateway secret in every operation; the
 * `Authorization` header and the administrator's secret count only where they are documented. A wrong gateway
 * secret is refused even beside a right one of the administrator.
 */
export function requireSecret(
  secrets: Secrets,
  operation: Pick<Operation, 'secret' | 'isAdminAccepted'>,
  query: Query,
  headers: IncomingHttpHeaders,
): SentSecrets {
  const { secret } = operation;
  const sent = operation.isAdminAccepted ? readHeader(headers, 'X-Admin-Auth') : undefined;
  const admin = sent === undefined ? 'none' : secrets.isAdminSecret(sent) ? 'right' : 'wrong';
  const isAdmin = admin === 'right';
  if (secret === 'admin') {
    if (isAdmin) return { hasSecret: true, admin };
    throw unauthorized(ADMIN_DETAIL, 'X-Admin-Auth');
  }
  // With the administrator's secret, the gateway secret may be missing but not wrong.
  const required = isAdmin && secret === 'required' ? 'optional' : secret;
  return { hasSecret: hasGatewaySecret(secrets, required, query, headers) || isAdmin, admin };
}

/** Whether query or header carry the gateway secret. Throws a 401 for a wrong or a missing secret. */
function hasGatewaySecret(
  secrets: Secrets,
  secret: Operation['secret'],
  query: Query,
  headers: IncomingHttpHeaders,
): boolean {
  const inQuery = query.get('auth');
  const bearer = inQuery ? undefined : readBearer(headers);
  if (inQuery) {
    // A secret that is sent twice is refused.
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
 * Whether a request for an administrator's page carries the secret. Scrapers can only send Bearer, so both
 * headers are accepted; if both are sent, both must be right.
 */
export function hasAdminSecret(secrets: Secrets, headers: IncomingHttpHeaders): boolean {
  const sent = [readHeader(headers, 'X-Admin-Auth'), readBearer(headers)].filter(
    (secret) => secret !== undefined,
  );
  return sent.length > 0 && sent.every(secrets.isAdminSecret);
}

/** Throws a 401 if a request for an administrator's page lacks the secret. */
export function requireAdminSecret(secrets: Secrets, headers: IncomingHttpHeaders): void {
  if (hasAdminSecret(secrets, headers)) return;
  throw unauthorized(
    'Send the administrator’s secret as Authorization: Bearer or in the header X-Admin-Auth.',
  );
}

/**
 * Returns whether the body carries the secret, or may leave it out because query or header carry it. Throws a
 * 401 for a wrong secret. A missing one that is required is reported by the schema, or by
 * `validateBodySecret` if only the administrator may leave it out.
 */
export function requireBodySecret(
  { secrets, isAgentAuthRequired }: SecretRules,
  rule: NonNullable<Operation['body']>['auth'],
  body: unknown,
  { hasSecret, admin }: SentSecrets,
): boolean {
  if (rule === 'undeclared') return hasSecret;
  const auth = isObject(body) ? body.auth : undefined;
  if (secrets.isGatewaySecret(auth)) return true;
  if (typeof auth === 'string') throw unauthorized('The field `auth` is not the gateway secret.');
  if (rule === 'unlessAdmin') {
    if (admin === 'wrong' && !hasSecret) throw unauthorized(ADMIN_DETAIL, 'X-Admin-Auth');
    return admin === 'right';
  }
  if (rule === 'optional' && hasSecret) return true;
  if (rule === 'optional' && isAgentAuthRequired) {
    throw unauthorized(
      'Send the gateway secret in the field `auth` or as Authorization: Bearer: this gateway requires it of agents.',
    );
  }
  return false;
}

/** Reports a missing secret that only the administrator may leave out. */
export function validateBodySecret(
  rule: NonNullable<Operation['body']>['auth'] | undefined,
  body: unknown,
  { admin }: SentSecrets,
): readonly FieldError[] {
  if (rule !== 'unlessAdmin' || admin === 'right' || !isObject(body) || body.auth !== undefined) return [];
  const detail = 'is missing; send the gateway secret, or the administrator’s in the header X-Admin-Auth';
  return [{ pointer: '/auth', detail }];
}

function unauthorized(detail: string, scheme = 'Bearer'): Problem {
  return new Problem('unauthorized', detail, { headers: { 'WWW-Authenticate': scheme } });
}

/** Reads a header by its name; several headers with the name are joined. */
export function readHeader(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === 'object' ? value.join(', ') : value;
}

function readBearer({ authorization }: IncomingHttpHeaders): string | undefined {
  return authorization === undefined ? undefined : /^bearer +(.*)$/i.exec(authorization)?.[1];
}
