/**
 * The pace of what the gateway does by itself: taking what is due and reading the agents. All of it
 * together takes a few milliseconds of a tick of the event loop, then the calls of others run. Without such
 * work, or with little of it, nothing waits.
 */
import { yieldToEventLoop } from './waiting.ts';

/**
 * CPU in one tick of the event loop. It is CPU, so that a tick is not cut short when the machine is busy with
 * something else.
 */
const WORK_MS = 5;
/** So many pieces begin together: if they read the same, it is read once. */
const AT_ONCE = 8;

/**
 * Resolves when the next piece of work may begin, a few at once, in the order of the calls. By then the
 * pieces before them have run, as far as they come without waiting.
 */
export type KeepPace = () => Promise<void>;

/**
 * Creates the pace of one gateway. `readCpuMs` reads the CPU of its thread; where that stands still, no piece
 * waits.
 */
export function createPace(readCpuMs: () => number = readThreadCpuMs): KeepPace {
  let last: Promise<void> = Promise.resolve();
  let begun = 0;
  let sinceMs: number | null = null;

  async function beginNext(): Promise<void> {
    await new Promise<void>((resolve) => process.nextTick(resolve));
    while (isSpent()) await yieldToEventLoop();
  }

  /** Whether this tick of the event loop has had its share of work; counts from the first call in it. */
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
