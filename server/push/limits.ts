/** What bounds a push, in one place. */

/** All have defaults; tests make them small. */
export type PushLimits = {
  /** For lookup, connection and TLS handshake together. */
  readonly connectWithinMs: number;
  /** From the request's first byte to the status line: an agent may answer when its work is done. */
  readonly answerWithinMs: number;
  /** For the rest of the answer. */
  readonly bodyWithinMs: number;
  readonly bodyBytesMax: number;
  /** An unused connection is kept for so long, unless the agent asks for less. */
  readonly idleMs: number;
  /** Attempts under way at once. */
  readonly openMax: number;
  readonly openPerOriginMax: number;
  /** Origins with a connection at once; those without one are forgotten. */
  readonly originsMax: number;
};

export const LIMITS: PushLimits = {
  connectWithinMs: 10_000,
  answerWithinMs: 300_000,
  bodyWithinMs: 2_000,
  bodyBytesMax: 65_536,
  idleMs: 4_000,
  openMax: 20_000,
  openPerOriginMax: 5_000,
  originsMax: 20_000,
};
