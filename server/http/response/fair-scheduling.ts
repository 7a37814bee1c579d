/**
 * Fair shares of the event loop for streams and large responses that have much to write. A long replay to a
 * fast reader never waits for anything by itself: its rows are in memory and its socket takes all of them. So
 * a stream that has used up its quota queues up; one stream of the queue continues in each tick of the event
 * loop, and everything else runs in between. Callers come in rotation, the streams of each in their order: so
 * a caller with hundreds of readers holds up the one reader of another by a slice.
 */
import type { Caller } from '../../ports/caller.ts';

/**
 * Events a stream writes before it queues up: about as much work as one call, so that a call waits only
 * briefly.
 */
const EVENTS_PER_TICK = 4;

/** How much a stream has written lately. */
export type Quota = {
  readonly caller: Caller['key'];
  /** The tick of the event loop in which it wrote last. */
  tick: number;
  /** Events it wrote in that tick. */
  events: number;
};

export type FairScheduler = {
  /**
   * Counts an event and returns whether the quota is used up. Each tick of the event loop brings a fresh
   * quota.
   */
  countEvent(quota: Quota): boolean;
  /** Resolves when the stream may continue, with a fresh quota. */
  waitForNext(quota: Quota): Promise<void>;
};

/** Creates the scheduler with an empty queue. */
export function createFairScheduler(): FairScheduler {
  /** The functions that continue the waiting streams, by caller; the next caller comes first. */
  const queue = new Map<Caller['key'], (() => void)[]>();
  let tick = 0;
  let isCounting = false;

  function continueNext(): void {
    const [next] = queue;
    if (!next) return;
    const [caller, streams] = next;
    queue.delete(caller);
    streams.shift()?.();
    if (streams.length > 0) queue.set(caller, streams);
    if (queue.size > 0) setImmediate(continueNext);
  }

  /** Ticks are counted only while a stream writes. */
  function countTick(): void {
    if (isCounting) return;
    isCounting = true;
    setImmediate(() => {
      isCounting = false;
      tick += 1;
    });
  }

  return {
    countEvent(quota) {
      countTick();
      quota.events = quota.tick === tick ? quota.events + 1 : 1;
      quota.tick = tick;
      return quota.events >= EVENTS_PER_TICK;
    },
    async waitForNext(quota) {
      await new Promise<void>((resolve) => {
        if (queue.size === 0) setImmediate(continueNext);
        const streams = queue.get(quota.caller) ?? [];
        streams.push(resolve);
        queue.set(quota.caller, streams);
      });
      quota.events = 0;
    },
  };
}
