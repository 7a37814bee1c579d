/**
 * Notices when the disk takes too long for a write. One timer serves all writes, one after the other: it
 * sleeps until the deadline of the present write, then looks at the write that runs by then.
 */
import type { Clock } from '../../ports/clock.ts';

/** A write that runs or waits. Its time begins at `openedMs` (monotonic). */
export type TimedWrite = { openedMs: number };

type WriteWatch = {
  /** Begins to watch if it does not watch yet. To be called whenever a write begins. */
  start(): void;
};

type Deps = {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Its abort ends the watch. */
  readonly closed: AbortSignal;
  /** Returns the write that runs; null ends the watch until the next `start()`. */
  currentWrite(): TimedWrite | null;
  /** Returns every write whose time has begun. */
  openWrites(): readonly TimedWrite[];
  onTimeout(): void;
};

/** If the timer wakes this much too late, the whole process was stopped. */
const PROCESS_STALL_MS = 500;

export function createWriteWatch(deps: Deps): WriteWatch {
  const { clock, timeoutMs, closed } = deps;
  let isWatching = false;

  async function watch(): Promise<void> {
    isWatching = true;
    for (let write = deps.currentWrite(); write && !closed.aborted; write = deps.currentWrite()) {
      const nowMs = clock.monotonicMs();
      const remainingMs = write.openedMs + timeoutMs - nowMs;
      if (remainingMs <= 0) deps.onTimeout();
      else {
        await clock.sleep(remainingMs, closed);
        restartAfterStall(clock.monotonicMs() - nowMs - remainingMs);
      }
    }
    isWatching = false;
  }

  /** The stop held the writer thread too, so every write gets its whole time again. */
  function restartAfterStall(lateMs: number): void {
    if (lateMs < PROCESS_STALL_MS) return;
    for (const write of deps.openWrites()) write.openedMs = clock.monotonicMs();
  }

  return {
    start() {
      if (!isWatching) void watch();
    },
  };
}
