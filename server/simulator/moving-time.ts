/** The clock of a world, as a test uses it. `world-clock.ts` implements it. */

/** Thrown by `auto()` while work is under way that needs no time. */
export class WorldBusy extends Error {
  override readonly name = 'WorldBusy';
  readonly code = 'world_busy';
}

export type WorldClock = {
  /** Seconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since the Unix epoch. With these methods the SDK uses the world's time. */
  nowMs(): number;
  monotonicMs(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  chance(): number;
  /**
   * Moves the time by this many seconds, and does everything that falls due on the way. Resolves with the new
   * time, in seconds.
   */
  advance(seconds: number): Promise<number>;
  /**
   * Moves the time to the next moment at which something is due: a deadline, a retry, a heartbeat, the end of
   * a long poll. Resolves with the new time; if there is no such moment, the time stays. Rejects with
   * `WorldBusy` while a request, a push to a handler or a commit is open. Calls that wait for news do not
   * count.
   */
  auto(): Promise<number>;
  /**
   * Moves the time from one due moment to the next until `work` has ended, and resolves or rejects as `work`
   * does: `await world.clock.runUntil(client.runTask(task))`. Rejects if nothing more is due, or a year has
   * passed, before `work` has ended.
   */
  runUntil<T>(work: Promise<T>): Promise<T>;
  /** Resolves when the world has done everything that needs no time. */
  settle(): Promise<void>;
};
