/**
 * The pace of the gateway's own work: taking what is due and reading the agents. All own work together takes
 * a few milliseconds of a tick of the event loop; then the calls of others run. While there is little own
 * work, nothing waits.
 */
import { yieldToEventLoop } from './waiting.ts';

/**
 * How much CPU time own work may take in one tick. CPU time does not pass while the machine is busy with
 * other processes, so these do not cut the work short.
 */
const WORK_MS = 5;
/** This many pieces of work begin together, so that reads of the same value can be shared. */
const AT_ONCE = 8;

/**
 * Resolves when the next piece of work may begin: a few pieces at once, in the order of the calls. By then
 * each earlier piece has run up to its first wait.
 */
export type KeepPace = () => Promise<void>;

/**
 * Creates the pace of one gateway. `readCpuMs` reads the CPU time of its thread. With a reading that never
 * changes, as in tests, no piece waits.
 */
export function createPace(readCpuMs: () => number = readThreadCpuMs): KeepPace {
  let last: Promise<void> = Promise.resolve();
  let begun = 0;
  let sinceMs: number | null = null;

  async function beginNext(): Promise<void> {
    await new Promise<void>((resolve) => process.nextTick(resolve));
    while (isSpent()) await yieldToEventLoop();
  }

  /**
   * Whether this tick of the event loop has had its share of work, counted from the first call in the tick.
   */
  function isSpent(): boolean {
    const nowMs = readCpuMs();
    if (sinceMs === null) {
      sinceMs = nowMs;
      setImmediate(() => {
        sinceMs = null;
      });
    }
    return nowMs - sinceMs >= WORK_MS;
  }

  return () => {
    begun += 1;
    if (begun % AT_ONCE === 0) last = last.then(beginNext);
    return last;
  };
}

function readThreadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
