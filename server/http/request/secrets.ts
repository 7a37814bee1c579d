/**
 * The two shared secrets (§5). Compared in constant time, digest against digest; up to two of each are right at a
 * time, so that a secret can be changed without a moment in which nobody gets in. An empty secret never matches.
 */
import { hash, timingSafeEqual } from 'node:crypto';

export type Secrets = {
  /** Whether this is a secret that authorises task and agent calls. */
  isGatewaySecret(text: unknown): boolean;
  /** Whether this is a secret that authorises the administrator's calls. */
  isAdminSecret(text: unknown): boolean;
};

/** Keeps digests only. An administrator's secret that equals a gateway secret opens nothing of the administrator's. */
export function createSecrets(given: {
  readonly gateway: readonly string[];
  readonly admin: readonly string[];
}): Secrets {
  const gateway = given.gateway.filter((one) => one !== '').map(digest);
  const admin = given.admin.filter((one) => one !== '' && !given.gateway.includes(one)).map(digest);
  return {
    isGatewaySecret: (text) => isAmong(gateway, text),
    isAdminSecret: (text) => isAmong(admin, text),
  };
}

function isAmong(digests: readonly Buffer[], text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const candidate = digest(text);
  let isRight = false;
  for (const one of digests) isRight = timingSafeEqual(one, candidate) || isRight;
  return isRight;
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
