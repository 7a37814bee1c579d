/** The time of a world as a test moves it. `world-clock.ts` does it. */

/** Thrown by `auto()` while something is under way that needs no time. */
export class WorldBusy extends Error {
  override readonly name = 'WorldBusy';
  readonly code = 'world_busy';
}

export type WorldClock = {
  /** Seconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since the Unix epoch: the clock of the SDK, which then lives in the world's time. */
  nowMs(): number;
  monotonicMs(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  chance(): number;
  /**
   * Moves the time by this many seconds, and has everything happen that falls due on the way. Resolves with
   * the new time, in seconds.
   */
  advance(seconds: number): Promise<number>;
  /**
   * Moves the time to the next moment at which something is due: a deadline, a retry, a heartbeat, the end of
   * a long poll. Resolves with the new time; if there is no such moment, the time stays. Rejects with
   * `WorldBusy` while a request, a push to a handler or a commit is open. A call that waits for news is not
   * one.
   */
  auto(): Promise<number>;
  /**
   * Moves the time, from one due moment to the next, until the work has ended, and resolves or rejects as it
   * does: `await world.clock.runUntil(client.runTask(task))`. Rejects when nothing is due any more, or a year
   * has passed, and the work has not ended.
   */
  runUntil<T>(work: Promise<T>): Promise<T>;
  /** Resolves when the world has done everything that needs no time. */
  settle(): Promise<void>;
};
