/**
 * Watches over the time that the disk takes for a write. One timer serves any number of writes, one after the
 * other: it sleeps to the deadline of the write that runs, then looks at the write that runs by then.
 */
import type { Clock } from '../../ports/clock.ts';

/** A write that runs or waits; its time begins at `openedMs`, monotonic. */
export type TimedWrite = { openedMs: number };

type WriteWatch = {
  /** Begins to watch unless it already does; call it whenever a write begins. */
  start(): void;
};

type Deps = {
  readonly clock: Clock;
  /** A write that takes longer than this is overdue. */
  readonly timeoutMs: number;
  /** Ends the watch. */
  readonly closed: AbortSignal;
  /** The write that runs; null ends the watch until the next start. */
  currentWrite(): TimedWrite | null;
  /** Every write whose time has begun. */
  openWrites(): readonly TimedWrite[];
  onTimeout(): void;
};

/** A timer that wakes this much too late means that the whole process was stopped. */
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

  /** While the process was stopped, its writer thread was too: every write gets its whole time again. */
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
