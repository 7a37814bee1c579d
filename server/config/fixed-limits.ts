/** The limits of the gateway without a setting. */
import type { GatewayDeps } from '../gateway/gateway.ts';

export const FIXED_LIMITS = {
  /** A task's deadline is at most this long after its creation, however long its `timeout` is. */
  timeoutMaxMs: 7 * 24 * 3_600_000,
  /** An idempotency key is recognised for this long. */
  keepKeysMs: 24 * 3_600_000,
} as const satisfies Partial<GatewayDeps['limits']>;

/** The rest is for calls. */
const STREAMS_SHARE = 2 / 3;

/** How many of the connections may be event streams. */
export function countStreamsMax(connectionsMax: number): number {
  return Math.max(1, Math.floor(connectionsMax * STREAMS_SHARE));
}

/** Pushes in progress at once, over all agents, where the system allows as many connections. */
const PUSHES_MAX = 20_000;
/** The rest is for callers, streams and files. */
const DESCRIPTORS_SHARE = 0.6;

/** How many pushes may be in progress at once: each has a connection while it waits for a response. */
export function countPushesMax(descriptorsMax: number): number {
  return Math.max(1, Math.min(PUSHES_MAX, Math.floor(descriptorsMax * DESCRIPTORS_SHARE)));
}
