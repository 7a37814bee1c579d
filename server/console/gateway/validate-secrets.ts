/** Asks whether the gateway accepts the secrets that a person typed. */
import { AuthenticationError, InvalidOptionError } from '@task-gateway/sdk';
import { createConsoleClient } from './client.ts';
import type { Secrets } from './secrets.ts';

/** Which secret was refused, or why that is unknown. */
export type Refusal = { readonly kind: 'admin' | 'gateway' } | Unknown;

type Unknown = { readonly kind: 'unknown'; readonly error: unknown };

/** Asks the gateway; null if it accepts all secrets that were given. */
export async function validateSecrets(secrets: Secrets): Promise<Refusal | null> {
  const admin = await attemptCall(async () => {
    const { readOverview } = createConsoleClient({ ...secrets, gateway: '' });
    await readOverview({ tags: 1 })(null, AbortSignal.timeout(CHECK_MS));
  });
  if (admin !== null || secrets.gateway === '') return admin === 'refused' ? { kind: 'admin' } : admin;
  const gateway = await attemptCall(async () => {
    // Called without the admin secret, which the gateway would accept here too. A match without tags costs
    // nothing.
    const { sdk } = createConsoleClient({ ...secrets, admin: '' });
    await sdk.previewMatch({ task_tags: [] }, { maxRetries: 0 });
  });
  return gateway === 'refused' ? { kind: 'gateway' } : gateway;
}

const CHECK_MS = 15_000;

async function attemptCall(call: () => Promise<void>): Promise<'refused' | Unknown | null> {
  try {
    await call();
    return null;
  } catch (error) {
    // The SDK refuses a text that cannot be a secret before it is sent.
    if (error instanceof AuthenticationError || error instanceof InvalidOptionError) return 'refused';
    return { kind: 'unknown', error };
  }
}
