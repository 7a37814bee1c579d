/** The limits of the gateway that no setting changes. */
import type { GatewayDeps } from '../gateway/gateway.ts';

export const FIXED_LIMITS = {
  /** The longest time from a task's creation to its deadline, however long its `timeout` is. */
  timeoutMaxMs: 7 * 24 * 3_600_000,
  /** How long an idempotency key is recognised. */
  keepKeysMs: 24 * 3_600_000,
} as const satisfies Partial<GatewayDeps['limits']>;

/** The share of connections that may be event streams; the rest is for calls. */
const STREAMS_SHARE = 2 / 3;

export function countStreamsMax(connectionsMax: number): number {
  return Math.max(1, Math.floor(connectionsMax * STREAMS_SHARE));
}

/** The most pushes in progress at once, over all agents. */
const PUSHES_MAX = 20_000;
/** The share of descriptors for pushes; the rest is for callers, streams and files. */
const DESCRIPTORS_SHARE = 0.6;

/** How many pushes may be in progress at once. Each has a connection while it waits for a response. */
export function countPushesMax(descriptorsMax: number): number {
  return Math.max(1, Math.min(PUSHES_MAX, Math.floor(descriptorsMax * DESCRIPTORS_SHARE)));
}
