/**
 * Waiting, ids and random numbers, which deterministic tests must control. Wall time comes from the store.
 * Only the stamp of a push is the time of the host, because agents compare it with their own clocks.
 */

/** Waits and measures. The real clock is in `system/`; tests advance a fake clock. */
export type Clock = {
  /** Resolves after the time, or at once when the signal fires. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  monotonicMs(): number;
};

export type Ids = {
  /** Creates the UUIDv7 of a task that is submitted at this store time. */
  newRequestId(nowMs: number): string;
  newRegistration(): string;
};

/** Returns a number in [0, 1), for jitter. */
export type Random = () => number;
