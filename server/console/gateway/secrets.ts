/**
 * The secrets that a person typed. They are kept only in `sessionStorage`: for this tab, until it closes. No
 * address contains them.
 */
import { type ReadonlySignal, signal } from '@preact/signals';

export type Secrets = {
  readonly admin: string;
  /** Empty if it was not given. The console then only reads and cancels. */
  readonly gateway: string;
};

const ADMIN_KEY = 'task-gateway.admin-secret';
const GATEWAY_KEY = 'task-gateway.gateway-secret';

const current = signal<Secrets | null>(readSecrets());

const reasonOfSignOut = signal<string | null>(null);

/** Why the reader was signed out, for people; null if the reader signed out. */
export const signOutReason: ReadonlySignal<string | null> = reasonOfSignOut;

/** The secrets in use; null while the reader is not signed in. */
export const secrets: ReadonlySignal<Secrets | null> = current;

function readSecrets(): Secrets | null {
  if (typeof sessionStorage === 'undefined') return null;
  const admin = sessionStorage.getItem(ADMIN_KEY);
  return admin ? { admin, gateway: sessionStorage.getItem(GATEWAY_KEY) ?? '' } : null;
}

/** Keeps secrets that the gateway has accepted. */
export function keepSecrets(secret: Secrets): void {
  sessionStorage.setItem(ADMIN_KEY, secret.admin);
  if (secret.gateway) sessionStorage.setItem(GATEWAY_KEY, secret.gateway);
  else sessionStorage.removeItem(GATEWAY_KEY);
  current.value = secret;
}

/** Signs the reader out. `reason` says why, unless the reader asked for it. */
export function forgetSecrets(reason: string | null = null): void {
  sessionStorage.removeItem(ADMIN_KEY);
  sessionStorage.removeItem(GATEWAY_KEY);
  reasonOfSignOut.value = reason;
  current.value = null;
}
