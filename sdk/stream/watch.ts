/** Watches a session's stream for one task, and decides when its run gets the task. */
import { type Clock, linkSignals, readMonotonicMs } from '../clock.ts';
import type { RequestId } from '../contract.ts';
import { HELD_EVERY_MS } from '../waiting.ts';
import type { FeedListener } from './shared.ts';

/**
 * The stream may ask for this many checks of a task at once. Further ones wait for a second each: a stream
 * that asks for so many is not a gateway's.
 */
const QUICK_CHECKS = 5;

/** Watches the stream for one task. */
export type StreamWatch = {
  readonly onItem: FeedListener;
  /**
   * Resolves when the stream is open or known to be down, when `maxMs` has passed or when the signal fires.
   */
  waitForOpen(maxMs: number): Promise<void>;
  /** Names the task whose events matter. An event that came before counts too. */
  watchTask(request_id: RequestId): void;
  isOpen(): boolean;
  /** Whether an event has said that the task reached a terminal state. */
  hasEnded(): boolean;
  /** Makes the next `waitForCheck` resolve at once. */
  requestCheck(): void;
  /** Resolves when the run should get the task, when `maxMs` has passed or when the signal fires. */
  waitForCheck(maxMs: number): Promise<void>;
};

/** Creates a watch. Without a stream it behaves as if the stream were down. */
export function createStreamWatch(
  clock: Clock,
  signal: AbortSignal | undefined,
  hasStream: boolean,
): StreamWatch {
  const early = new Set<RequestId>();
  let watched: RequestId | undefined;
  let state: 'new' | 'open' | 'down' = hasStream ? 'new' : 'down';
  let isDue = false;
  let hasEnded = false;
  let lastCheckMs = Number.NEGATIVE_INFINITY;
  let quickChecks = QUICK_CHECKS;
  let wake: () => void = () => undefined;

  /** Waits until `maxMs` has passed or the condition holds, which it checks at each item of the feed. */
  async function waitUntil(isMet: () => boolean, maxMs: number): Promise<void> {
    const linked = linkSignals(signal);
    wake = () => {
      if (isMet()) linked.abort();
    };
    wake();
    await clock.sleep(maxMs, linked.signal);
    linked.abort();
  }

  return {
    isOpen: () => state === 'open',
    hasEnded: () => hasEnded,
    requestCheck: () => {
      isDue = true;
      wake();
    },
    onItem(item) {
      switch (item.kind) {
        case 'event':
          if (watched === undefined) early.add(item.event.request_id);
          hasEnded ||= item.event.request_id === watched;
          isDue ||= item.event.request_id === watched;
          break;
        case 'gap':
          isDue = true;
          break;
        case 'open':
          isDue ||= state === 'down';
          state = 'open';
          break;
        default:
          state = 'down';
      }
      wake();
    },
    waitForOpen: (maxMs) => waitUntil(() => state !== 'new', maxMs),
    watchTask(request_id) {
      watched = request_id;
      hasEnded = early.has(request_id);
      isDue ||= hasEnded;
      early.clear();
    },
    async waitForCheck(maxMs) {
      await waitUntil(() => isDue || state === 'down', maxMs);
      const restMs = lastCheckMs + HELD_EVERY_MS - readMonotonicMs(clock);
      if (restMs > 0 && quickChecks === 0) await clock.sleep(restMs, signal);
      else if (restMs > 0 && state === 'down') await waitUntil(() => isDue, restMs);
      if (isDue && quickChecks > 0) quickChecks -= 1;
      isDue = false;
      lastCheckMs = readMonotonicMs(clock);
    },
  };
}
