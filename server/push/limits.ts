/** The limits of a push, in one place. All have defaults; tests set small ones. */
import { PUSH_RESPONSE_WITHIN_MS } from '../domain/delivery.ts';

export type PushLimits = {
  /** For lookup, connection and TLS handshake together. */
  readonly connectWithinMs: number;
  /**
   * An agent must take the whole request within this time and a second more for this many bytes that it took.
   */
  readonly sendWithinMs: number;
  readonly sendBytesPerSecond: number;
  /** From the request's first byte to the status line: an agent may respond when its work is finished. */
  readonly responseWithinMs: number;
  /** For the rest of the response, after its status line. */
  readonly bodyWithinMs: number;
  readonly bodyBytesMax: number;
  /** An unused connection is kept for this long, unless the agent asks for less. */
  readonly idleMs: number;
  /** Origins with a connection at once; an origin without a connection does not count. */
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
