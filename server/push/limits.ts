/** The limits of a push. All have defaults; tests set small ones. */
import { PUSH_RESPONSE_WITHIN_MS } from '../domain/delivery.ts';

export type PushLimits = {
  /** The limit for lookup, connection and TLS handshake together. */
  readonly connectWithinMs: number;
  /**
   * The agent must take the whole request within `sendWithinMs`, plus a second for each `sendBytesPerSecond`
   * bytes that it has taken.
   */
  readonly sendWithinMs: number;
  readonly sendBytesPerSecond: number;
  /**
   * From the request's first byte to the status line. It is long, because an agent may respond after its
   * work.
   */
  readonly responseWithinMs: number;
  /** The limit for the rest of the response, after its status line. */
  readonly bodyWithinMs: number;
  readonly bodyBytesMax: number;
  /** How long an unused connection is kept, unless the agent asks for less. */
  readonly idleMs: number;
  /** How many origins may have connections at once. */
  readonly originsMax: number;
};

export const PUSH_LIMITS: PushLimits = {
  connectWithinMs: 10_000,
  sendWithinMs: 30_000,
  sendBytesPerSecond: 65_536,
  responseWithinMs: PUSH_RESPONSE_WITHIN_MS,
  bodyWithinMs: 2_000,
  bodyBytesMax: 65_536,
  idleMs: 4_000,
  originsMax: 20_000,
};
