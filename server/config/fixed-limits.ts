/** Limits of the gateway that no setting changes. */
import type { GatewayDeps } from '../gateway/gateway.ts';

export const FIXED_LIMITS = {
  /** A task's deadline is at most this long after its creation, however long its `timeout` is. */
  timeoutMaxMs: 7 * 24 * 3_600_000,
  /** An idempotency key is recognised for this long. */
  keepKeysMs: 24 * 3_600_000,
  /** Pushes in progress at once, over all agents. */
  pushesMax: 5_000,
} as const satisfies Partial<GatewayDeps['limits']>;
