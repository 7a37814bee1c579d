/**
 * Waiting, ids and random numbers: a deterministic test must control them. Wall time comes from the store;
 * only what agents compare with their own clocks (the stamp of a push) is the time of the host.
 */

/** Waiting and measuring. The real one lives in `system/`; tests advance a fake one. */
export type Clock = {
  /** Resolves after the time, or at once when the signal fires. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Monotonic milliseconds, for measuring durations. */
  monotonicMs(): number;
};

/** Creates ids. */
export type Ids = {
  /** A UUIDv7, for the `request_id` of a task when it is submitted at this time of the store. */
  newRequestId(nowMs: number): string;
  /** An opaque id for one registration of an agent. */
  newRegistration(): string;
};

/** Returns a number in [0, 1), for jitter. */
export type Random = () => number;
