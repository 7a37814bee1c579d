/** Waiting, and the other things a deterministic test must own: ids and chance. Wall time is the store's alone. */

/** Waits. The real one lives in `system/`; tests move a fake one. */
export type Clock = {
  /** Resolves after the time, or at once when the signal fires; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Monotonic milliseconds, for measuring how long something took. */
  monotonicMs(): number;
};

/** Fresh names. */
export type Ids = {
  /** A UUIDv7 (§2.1 request_id). */
  newRequestId(): string;
  /** An opaque id for one registration of an agent. */
  newRegistration(): string;
};

/** A number in [0, 1), for jitter. */
export type Random = () => number;
